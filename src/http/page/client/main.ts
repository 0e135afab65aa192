import { App } from './app.js';
import { applyTheme, rememberedTheme } from './dom/theme.js';

// This runs while the head is read, so that a dark page does not flash white first.
applyTheme(rememberedTheme());
document.addEventListener('DOMContentLoaded', () => new App().start());
