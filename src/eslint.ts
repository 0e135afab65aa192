export { plugin, plugin as default } from './audit/judge/eslint-plugin.js';
