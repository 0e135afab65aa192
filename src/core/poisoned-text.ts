import { isPlainObject } from './plain-data.js';
import { withoutSecrets } from './public-message.js';
import { escapedPart, hiddenParts, mixedWords, readAloud } from './visible-text.js';

/** A place in the texts of a tool that users do not see as it is, or that tells a model what to do instead of what the tool does. */
export interface PoisonedText {
  readonly rule: 'hidden-text' | 'mixed-alphabets' | 'instruction-text';
  /** A clause such as `invisible characters at /description, character 12: "Adds\u{200b}"`. */
  readonly message: string;
  /** A JSON pointer into the tool. */
  readonly path: string;
  readonly offset: number;
}

/** Findings of one tool; a text full of them says no more. */
const MOST = 8;

/**
 * Patterns of what tools say to models, by what they are about; see docs/lint.md for their sources. Gaps are bounded and
 * stay within a sentence, so that each is linear. What honest tools say of themselves is none: "read this before", "must be set".
 */
const INSTRUCTIONS: readonly (readonly [about: string, pattern: RegExp])[] = [
  ['to keep something from the user', /\b(?:not|n['’]t|never|without|avoid)\s+(?:\w+\s+){0,2}?(?:tell|mention|inform|reveal|disclos|notify|notice|alert)(?:e|ing)?\b[^.!?\n]{0,60}\busers?\b/i],
  ['to keep something from the user', /\b(?:hide|conceal|keep)\b[^.!?\n]{0,40}\bfrom (?:the )?users?\b|\busers? (?:does|do|must|should|will|may) not (?:notice|know|see|learn|find out|be (?:told|informed))\b/i],
  ['to leave other instructions aside', /\b(?:ignor|disregard|forget)(?:e|ing)?\b[^.!?\n]{0,30}\b(?:previous|prior|above|earlier|preceding|your|given)\b[^.!?\n]{0,30}\b(?:instructions?|prompts?|messages|rules|guidelines|guardrails|commands|context)\b/i],
  ['to leave other instructions aside', /\b(?:ignor|disregard|forget)(?:e|ing)?\b[^.!?\n]{0,30}\b(?:instructions?|rules|guidelines|guardrails)\b[^.!?\n]{0,20}\b(?:given|above|before)\b|\b(?:guidelines|guardrails|safety rules|your (?:rules|instructions))\b[^.!?\n]{0,12}\b(?:do not|don['’]t|no longer) apply\b|\b(?:override|bypass)\b[^.!?\n]{0,20}\b(?:your|safety|system)\b[^.!?\n]{0,20}\b(?:guidelines|guardrails|instructions|prompts?|rules)\b/i],
  ['who the model is', /\byou are now (?:an?|in|the)\b/i],
  ['with the markup of a prompt', /<\s*\/?\s*(?:important|system|instructions?|secret|hidden|admin|assistant|developer|critical|override)\s*>|<\|[a-z_]{2,30}\|>|\[\/?INST\]|<<SYS>>|<!--(?=[^>]{0,200}\b(?:assistant|system|ignore|must|always|never|also|call|send|read|instructions?)\b)/i],
  ['with the markup of a prompt', /(?:^|\n)\s{0,8}#{1,6}\s{0,4}(?:system|assistant|instructions? (?:for|to) the (?:model|assistant)|hidden instructions?)\s{0,4}:?\s{0,4}(?:\n|$)/i],
  ['to give away secrets', /\b(?:read|open|cat|send|pass|include|attach|contents? (?:of|from)|provide|upload|append|copy)(?:s|ing)?\b(?:[^.!?\n]|\.(?=\S)){0,50}(?:\bid[_ ]rsa\b|\bid_ed25519\b|~\/\.ssh\b|~\/\.aws\b|\/etc\/(?:passwd|shadow)\b|\bmcp\.json\b|\.netrc\b|\.npmrc\b)/i],
  ['to give away secrets', /(?<!\b(?:not|never|avoid|without|n['’]t)\s(?:\w+\s){0,2})\b(?:send|pass|include|attach|collect|gather|forward|append|upload|submit|answer with)(?:ing)?\b(?:[^.!?\n]|\.(?=\S)){0,25}\b(?:(?:full |entire )?contents? of|all|every|the user['’]s|of this (?:machine|session))\b(?:[^.!?\n]|\.(?=\S)){0,30}(?:\.env\b|\bprivate keys?\b|\bcredentials\b|\bpasswords?\b|\bapi keys?\b|\bsecrets\b)/i],
  ['to give away secrets', /\b(?:send|pass|include|attach|append|submit)\b[^.!?\n]{0,20}\benvironment variables of (?:this|the user)|\b(?:answer|reply|respond) with (?:the |all )?(?:secrets|credentials|passwords)\b/i],
  ['to give away the conversation', /\b(?:send|pass|include|attach|put|fill in|provide|append|forward|with|submit)\b[^.!?\n]{0,30}\b(?:full|entire|complete|whole|all|everything)\b[^.!?\n]{0,30}\b(?:(?:conversation|chat|message) (?:history|transcript)|transcript|system prompt|conversation so far|user (?:has )?(?:said|wrote|written|told))\b/i],
  ['when to be called, whatever the task', /\b(?:before|prior to)\s+(?:\w+\s+){0,3}?(?:any|every|all|each)\s+(?:(?:of the )?other\s+)?(?:\w+\s+)?(?:tools?|commands?|requests?)\b|\bbefore (?:doing )?any(?:thing| other thing)(?: else)?\b/i],
  ['when to be called, whatever the task', /\b(?:for|on|with|at the (?:start|beginning) of) (?:every|each) (?:single )?(?:request|message|turn|prompt|conversation|session|chat)\b[^.!?\n]{0,30}\b(?:call|run|use|invoke)\b|\b(?:call|run|use|invoke)(?:ed|d)?\b[^.!?\n]{0,30}\b(?:for|on|with|at the (?:start|beginning) of) (?:every|each) (?:single )?(?:request|message|turn|prompt|conversation|session|chat)\b|\bwhen(?:ever)? any (?:other )?tool (?:is|gets)\b|\bregardless of (?:the (?:task|request)|what the user)\b/i],
  ['what to do whatever the user says', /\b(?:whatever|no matter what|regardless of what)\b[^.!?\n]{0,30}\bthe user\b[^.!?\n]{0,20}\b(?:asks?|says?|wants?|wishes|specif|requests?|told|gives?)/i],
  ['what to do whatever the user says', /\ball (?:\w+ )?(?:e-?mails?|messages?|payments?|transfers?|orders?) (?:must|should|have to|are to) (?:first )?(?:be (?:sent|forwarded|paid|made|copied)|go) to\b|\b(?:always|must|also) (?:set|change|replace|add|use|put) (?:\w+ ){0,3}?(?:recipient|bcc|account|destination)\b/i],
  ['to act without approval', /\bwithout (?:asking|waiting for|consulting|getting|requesting)\b[^.!?\n]{0,20}\b(?:users?|permission|confirmation|approval|consent)\b|\bn(?:o|['’])t (?:ask|wait for|request)\b[^.!?\n]{0,20}\b(?:permission|confirmation|approval|consent)\b|\busers? (?:has|have) (?:already |pre-?)+(?:approved|authori[sz]ed|confirmed|consented|granted)\b|\bskip (?:the |any |all )?(?:confirmation|approval|permission)s?\b/i],
  ['to be preferred to other tools', /\b(?:always|must|only)\b[^.!?\n]{0,30}\b(?:prefer|preferred|chosen?|choose|selected|select|pick)\b[^.!?\n]{0,30}\b(?:over|instead of|in preference to|rather than|to)\s+(?:all|any|every)\b|\b(?:not|never|n['’]t) (?:use|call|choose|select) (?:any|all) others?\b|\bignore (?:all |any |the )?(?:other )?tools of other servers\b/i],
  ['to follow what is encoded', /\b(?:decode|decrypt|deobfuscate|unscramble)\b[^.!?\n]{0,60}\b(?:follow|execute|obey|carry out|act on|do what)\b|(?=[A-Za-z0-9+/]{0,60}[0-9])(?=[A-Za-z0-9+/]{0,60}[A-Z])(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{160,}/i],
  ['to follow texts as instructions', /\b(?:follow|obey|comply with)\b[^.!?\n]{0,20}\binstructions?\b[^.!?\n]{0,30}\bwithout\b/i],
];

/**
 * Returns what is odd in the texts that models read of a tool, or of a part of one, at most eight places: hidden characters, words with letters
 * of two alphabets, and sentences that steer the model. Honest tools have none in any language; steering is known in English only.
 *
 * @param tool plain data: its strings are read wherever they are, and names of its fields as well.
 */
export function poisonedTexts(tool: Readonly<Record<string, unknown>>): readonly PoisonedText[] {
  const found: PoisonedText[] = [];
  for (const [path, text] of textsIn(tool)) {
    const find = (rule: PoisonedText['rule'], what: string, offset: number, length: number) => found.push({ rule, path, offset, message: `${what} ${placeOf(path, text, offset, length)}` });
    for (const { kind, offset, length } of hiddenParts(text).slice(0, MOST)) find('hidden-text', kind, offset, length);
    for (const { offset, length } of mixedWords(text).slice(0, MOST)) find('mixed-alphabets', 'letters of two alphabets in one word', offset, length);
    const plain = readAloud(text);
    const told = new Set<string>();
    for (const [about, pattern] of INSTRUCTIONS) {
      const match = told.has(about) ? null : pattern.exec(plain.text);
      if (match === null) continue;
      told.add(about);
      const offset = plain.at(match.index);
      find('instruction-text', `an instruction to the model ${about}`, offset, plain.at(match.index + match[0].length) - offset);
    }
    if (found.length >= MOST) break;
  }
  return Object.freeze(found.slice(0, MOST));
}

/** A word that says when tools are to be called. */
const STEERING = /\b(?:before|after|instead|always|never|must|first|when|whenever|prefer|not|avoid|rather)\b|n['’]t\b/i;

/** Returns the names in sentences that say when tools are to be called: identifiers, and words in quotes or backticks; with their places. */
export function steeredNames(tool: Readonly<Record<string, unknown>>): ReadonlyMap<string, Pick<PoisonedText, 'path' | 'offset' | 'message'>> {
  const names = new Map<string, Pick<PoisonedText, 'path' | 'offset' | 'message'>>();
  for (const [path, text] of textsIn(tool)) {
    for (const { 0: sentence, index } of text.matchAll(/(?:[^.!?\n]|[.!?](?=\S))+/g)) {
      if (!STEERING.test(sentence)) continue;
      for (const { 0: word, 1: quote, 2: name = '', index: at } of sentence.matchAll(/(["'`]?)([A-Za-z][\w.-]*\w)/g)) {
        if (names.has(name) || (quote === '' && !/[_.-]|[a-z][A-Z]/.test(name))) continue;
        const offset = index + at;
        names.set(name, { path, offset, message: placeOf(path, text, offset, word.length) });
      }
    }
  }
  return names;
}

/** The strings of plain data with their JSON pointers; a name of a field is a string as well, with its blanks instead of underscores. */
function* textsIn(value: unknown, path = ''): Generator<readonly [path: string, text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* textsIn(item, `${path}/${index}`);
  else if (isPlainObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (/[^A-Za-z]/.test(key)) yield [below, key.replaceAll('_', ' ')];
      yield* textsIn(item, below);
    }
  }
}

/** Characters around a place in which a secret may begin. */
const AROUND = 200;

/** Returns a place as messages show it: short, with everything hidden written as its code, and nothing of a text with a credential there. */
function placeOf(path: string, text: string, offset: number, length: number): string {
  const around = text.slice(Math.max(0, offset - AROUND), offset + AROUND);
  const shown = withoutSecrets(around) === around ? escapedPart(text, offset, length) : '[secret]';
  return `at ${escapedPart(withoutSecrets(path.slice(0, 2 * AROUND)), 0, 100).replace(/^"|"$/g, '')}, character ${offset + 1}: ${shown}`;
}
