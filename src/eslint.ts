export { plugin, plugin as default } from './audit/eslint-plugin.js';
