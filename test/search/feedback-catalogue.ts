import type { ToolMetadataRegistry } from '../../src/index.js';
import { registryOf } from '../tool/sample-tools.js';

/** Returns tools for several subjects. Two tools can often serve the same request. */
export function manyTools(): ToolMetadataRegistry {
  return registryOf(
    { name: 'weather_report', description: 'Tells the weather of a city for today and tomorrow' },
    { name: 'weather_archive', description: 'Past weather of a city by date' },
    { name: 'file_read', description: 'Reads a text file of the project' },
    { name: 'file_write', description: 'Writes a text file of the project' },
    { name: 'file_find', description: 'Finds files by name or by a word in their text' },
    { name: 'git_diff', description: 'Shows what changed in the project since a commit' },
    { name: 'git_log', description: 'Lists the commits of a branch' },
    { name: 'mail_send', description: 'Sends a message to an address' },
    { name: 'mail_search', description: 'Finds messages in the inbox' },
    { name: 'calendar_add', description: 'Adds an appointment to the calendar' },
    { name: 'calendar_list', description: 'Lists appointments of a day' },
    { name: 'convert_currency', description: 'Converts an amount of money between currencies' },
    {
      name: 'convert_units',
      description: 'Converts lengths, weights and temperatures between units',
    },
    { name: 'translate', description: 'Translates a text into another language' },
    { name: 'book_flight', description: 'Books a flight between two cities' },
    { name: 'book_hotel', description: 'Books a hotel room in a city' },
    { name: 'play_music', description: 'Plays a song or an album' },
    { name: 'set_timer', description: 'Rings after some minutes' },
    { name: 'spend_report', description: 'Sums expenses by month' },
    { name: 'image_resize', description: 'Makes an image smaller or larger' },
  );
}

export const SUBJECTS = [
  'what is the weather in Rome tomorrow',
  'read the file with the settings of the project',
  'find all files that contain the word invoice',
  'what changed since the last commit',
  'send a message to the address of my landlord',
  'add an appointment with the dentist to my calendar',
  'convert an amount of money to euros',
  'translate this letter into another language',
  'book a flight to Lisbon for two people',
  'book a hotel room near the harbour',
  'play an album by a jazz trio',
  'ring after twenty minutes',
  'sum the expenses of this month',
  'make the image of the logo smaller',
];

export const ranking = (registry: ToolMetadataRegistry, text: string, limit = 10) =>
  registry.search(text, { limit }).map(({ toolName }) => toolName);

export function use(
  registry: ToolMetadataRegistry,
  text: string,
  toolName: string,
  outcome: 'success' | 'failure' = 'success',
  times = 1,
): void {
  for (let time = 0; time < times; time++) registry.recordUse({ text, toolName, outcome });
}
