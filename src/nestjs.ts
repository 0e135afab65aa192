export {
  ToolModule,
  type ToolModuleAsyncOptions,
  type ToolModuleOptions,
} from './nestjs/tool-module.js';
