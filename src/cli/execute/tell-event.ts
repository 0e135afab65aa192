import type { ToolEvent } from '../../core/tool-event.js';
import { plainLine } from '../plain-text.js';
import { paint, type Terminal } from '../terminal.js';
import { durationText } from './show-outcome.js';

/** Characters of one line of progress: a tool may report whole pages. */
const MOST_SHOWN = 160;

/** A line of progress that a tool reports. */
export function progressLine(terminal: Terminal, event: ToolEvent): string | undefined {
  if (event.type !== 'call-progress') return undefined;
  const { progress, toolName } = event;
  const text = plainLine(typeof progress === 'string' ? progress : JSON.stringify(progress));
  return paint(terminal, 'dim', `${toolName}: ${text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text}`);
}

/** A line for what tells how far several calls are. */
export function callLine(terminal: Terminal, event: ToolEvent): string | undefined {
  switch (event.type) {
    case 'call-started':
      return paint(terminal, 'dim', `${plainLine(event.callId)} ${event.toolName} started`);
    case 'call-settled':
      return paint(terminal, 'dim', `${plainLine(event.callId)} ${plainLine(event.toolName)} ${event.status.replace('_', ' ')} after ${durationText(event.durationMs)}`);
    default:
      return progressLine(terminal, event);
  }
}
