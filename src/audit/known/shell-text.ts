/**
 * A simple command in a shell text: its words, and the files that its output is written to. A word
 * that contains a variable is undefined.
 */
interface ShellCommand {
  readonly words: readonly (string | undefined)[];
  readonly writesTo: readonly (string | undefined)[];
}

const SEPARATORS = new Set([';', '|', '&', '\n', '(', ')']);
const KEYWORDS = new Set([
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'while',
  'until',
  'do',
  'done',
  'esac',
  'in',
  '!',
  'time',
  'builtin',
]);
const HEADS = new Set(['for', 'case', 'select', 'function']);
const HARMLESS_TARGET = /^(?:\/dev\/(?:null|stdout|stderr|tty)|&?[0-9-])$/;
/** The depth down to which nested substitutions are read. */
const DEEPEST = 5;

/**
 * Returns the simple commands in a shell text, including the commands in substitutions. Understands
 * quotes, redirections and variables, but not here-documents.
 */
export function shellCommands(text: string, depth = 0): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  let words: (string | undefined)[] = [];
  let writesTo: (string | undefined)[] = [];
  let word: string | undefined;
  let isOpen = false;
  let isTarget = false;
  let isHead = false;
  const endWord = () => {
    if (word === undefined) return;
    const value = isOpen ? undefined : word;
    if (isTarget) {
      if (value === undefined || !HARMLESS_TARGET.test(value)) writesTo.push(value);
    } else if (words.length === 0 && value !== undefined && HEADS.has(value)) isHead = true;
    else if (
      words.length > 0 ||
      value === undefined ||
      !(KEYWORDS.has(value) || /^[A-Za-z_]\w*=/.test(value))
    )
      words.push(value);
    [word, isOpen, isTarget] = [undefined, false, false];
  };
  const endCommand = () => {
    endWord();
    // The head of a `for` or `case` contains only words, not commands.
    if (isHead) words = [];
    isHead = false;
    if (words.length > 0 || writesTo.length > 0) commands.push({ words, writesTo });
    [words, writesTo] = [[], []];
  };
  const inner = (from: number, close: string): number => {
    let level = 1;
    let end = from;
    for (; end < text.length && level > 0; end += 1)
      level += text[end] === close ? -1 : close === ')' && text[end] === '(' ? 1 : 0;
    if (depth < DEEPEST) commands.push(...shellCommands(text.slice(from, end - 1), depth + 1));
    return end - 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!;
    if (sign === "'") {
      const end = text.indexOf("'", at + 1);
      word = (word ?? '') + text.slice(at + 1, end === -1 ? undefined : end);
      at = end === -1 ? text.length : end;
    } else if (sign === '"' || sign === '`' || sign === '$') {
      word ??= '';
      if (sign === '`') at = inner(at + 1, '`');
      else if (sign === '$' && text[at + 1] === '(') at = inner(at + 2, ')');
      else if (sign === '$' && text[at + 1] === '{') at = Math.max(at, text.indexOf('}', at));
      if (sign !== '"') isOpen = true;
      else {
        let end = at + 1;
        for (; end < text.length && text[end] !== '"'; end += text[end] === '\\' ? 2 : 1) {
          if (text[end] === '$' && text[end + 1] === '(') end = inner(end + 2, ')');
          if (text[end] === '$') isOpen = true;
        }
        word += text.slice(at + 1, end).replace(/\\(["\\$`])/g, '$1');
        at = end;
      }
    } else if (sign === '\\') word = (word ?? '') + (text[(at += 1)] ?? '');
    else if (sign === '>') {
      if (word !== undefined && /^[0-9&]$/.test(word)) word = undefined;
      endWord();
      if (text[at + 1] === '>') at += 1;
      if (text[at + 1] === '&') {
        at += 1;
        word = '&';
      }
      isTarget = true;
    } else if (sign === '#' && word === undefined) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end - 1;
    } else if (
      SEPARATORS.has(sign) ||
      (word === undefined && (sign === '{' ? /\s/.test(text[at + 1] ?? ' ') : sign === '}'))
    )
      endCommand();
    else if (/\s/.test(sign)) endWord();
    else if (sign === '<') endWord();
    else word = (word ?? '') + sign;
  }
  endCommand();
  return commands;
}
