import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { CHANGING_NOTES, NoteTool } from './note-tool.js';

/** Maximum length of a note in characters. A note is at most a long paragraph. */
const MAX_TEXT_LENGTH = 4_000;
const MAX_TAG_LENGTH = 50;
const MAX_TAGS = 10;

const Input = z.object({
  text: z
    .string()
    .max(MAX_TEXT_LENGTH)
    .refine((text) => text.trim() !== '', { error: "text that isn't blank" })
    .describe('What to remember'),
  tags: z
    .array(z.string().min(1).max(MAX_TAG_LENGTH))
    .max(MAX_TAGS)
    .default([])
    .describe('Tags to find it by'),
});

/** Stores a note for the project. */
@tool({
  ...CHANGING_NOTES,
  name: 'note_add',
  description:
    'Keeps a note of at most 4000 characters with the project, in .tooldex/notes.json, so that later sessions find it. Returns the note with its id and time. Not for secrets: the file is plain text.',
  inputSchema: Input,
  keywords: ['note', 'remember', 'write down', 'memo', 'keep in mind', 'jot', 'reminder'],
  mandatoryKeywords: ['add a note', 'take a note', 'remember that'],
  stages: ['planning', 'execution', 'completion'],
  taskTypes: ['action', 'generation'],
  examples: [
    'Remember that the API limit is 100 per minute',
    'Add a note: the release is on Friday',
    'Write down what we decided',
  ],
  progressParams: ['text'],
  preview: ({ text, tags }) => ({
    summary: `Adds a note of ${text.length} characters${tags.length === 0 ? '' : ` with the tags ${tags.join(', ')}`}`,
    diff: text,
    reversible: true,
  }),
})
export class NoteAdd extends NoteTool {
  async execute({ text, tags = [] }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(() => this.notes.add(text, tags));
  }
}
