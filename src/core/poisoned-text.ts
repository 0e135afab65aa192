import { isPlainObject } from './plain-data.js';
import { withoutSecrets } from './public-message.js';
import { escapedPart, hiddenParts, mixedWords, readAloud } from './visible-text.js';

/**
 * A suspicious part of a tool's text: users can't see it, or it instructs the model instead of
 * describing the tool.
 */
export interface PoisonedText {
  readonly rule: 'hidden-text' | 'mixed-alphabets' | 'instruction-text';
  /** A description such as `invisible characters at /description, character 12: "Adds\u{200b}"`. */
  readonly message: string;
  /** A JSON pointer into the tool. */
  readonly path: string;
  readonly offset: number;
}

/** The minimum length of a sentence that can manipulate a model, in characters. */
const SHORTEST = 12;
/** The maximum number of findings per tool. More findings wouldn't be useful. */
const MOST = 8;

/**
 * Patterns of sentences that manipulate a model, taken from published attacks and grouped by
 * purpose. The sources are listed in docs/lint.md.
 */
const STEERINGS: readonly (readonly [about: string, pattern: RegExp, unless?: RegExp])[] = [
  [
    'to keep something from the user',
    /\b(?:not|never|without|avoid|no need to|refrain from|n['’]t) ?(?:\w+ ){0,2}(?:tell|mention|inform|reveal|notify|alert|show|bother)(?:ing)?\b.{0,40}\b(?:the|this|to) users?\b/i,
    /\bunless\b|\busers? (?:did|has|have|do)\b/i,
  ],
  [
    'to keep something from the user',
    /\b(?:hid|conceal|secret|silent|covert)(?:e|es|ing|ly)?\b.{0,60}\b(?:from|without) .{0,12}\busers?\b/i,
  ],
  [
    'to keep something from the user',
    /\busers? (?:must|should|need|do|does|will)(?: not|n['’]t|es not| never) (?:\w+ ){0,2}(?:know|notice|see|learn|hear|be (?:told|aware))|\bas if .{0,20}\b(?:never|not) happened/i,
    /\b(?:if|when|unless|because)\b/i,
  ],
  [
    'to keep something from the user',
    /\b(?:not|never|n['’]t|nothing) (?:mention|reveal|disclose|about) (?:this|that|the) (?:tool|step|call|instruction|parameter|note)/i,
  ],
  [
    'to ignore other instructions',
    /\b(?:ignor|disregard|forget|overrid|bypass|replace|void|no attention|stop obeying|not follow|not apply)(?:e|ing)?\b.*\b(?:instructions?|prompts?|guidelines|guardrails|restrictions|told before)\b|\binstructions? are void\b/i,
    /\brunning\b/i,
  ],
  [
    'to ignore other instructions',
    /\b(?:new|updated|real) (?:instructions|system prompt)\b.{0,12}\b(?:follow|below|are)\b|\bfrom now on\b.{0,20}\b(?:you|always|must)\b|\bover .{0,30}\binstructions/i,
  ],
  [
    'who the model is',
    /\byou are now (?:an?|in|the)\b|\bpretend (?:to be|that you are)\b|\bact as (?:an? )?(?:root|admin|unrestricted)|\byou are in (?:developer|admin|god) mode/i,
  ],
  [
    'to give away secrets',
    // `config` and `known_hosts` don't contain credentials.
    /\b(?:read|open|load|look|grab|send|pass|includ|attach|put|copy|content|hold|text|add)(?:e|ing|s)?\b.*(?:\bid[_ ]rsa\b|~\/\.ssh\b(?!\/(?:config|known_hosts))|\.aws\/credentials|\betc[/ ](?:passwd|shadow)\b|\bmcp\.json\b|\.(?:netrc|npmrc|pgpass|gnupg)\b)/i,
    /\b(?:never|not|such as|e\.g|path|location)\b/i,
  ],
  [
    'to give away secrets',
    /\b(?:send|pass|includ|attach|append|put|paste|add|collect|suppl)(?:e|y|ing)?\b(?!-).*(?:\.env\b|\bprivate keys?|\bcredentials|\bpasswords|\bapi keys|\bsecrets|\boutput of `?env|\bhome folder|\bcookies of)/i,
    /\b(?:not|never|avoid|without|lists|returns|example)\b/i,
  ],
  [
    'to give away the conversation',
    /\b(?:full|entire|complete|whole|all|everything|so far|transcript)\b.*\b(?:conversation|chat|messages|user has said|system prompt|said until now)\b|\b(?:conversation|chat) (?:so far|history)\b/i,
    /\b(?:not|never|avoid|without|returns?|retrieves?|gets?|lists?|to all)\b/i,
  ],
  [
    'when to call it, whatever the task',
    /\b(?:before|prior to|after|whenever|for|every time|as soon as|beginning of|in every|when a)\b.*\b(?:tools?|commands?|requests?|messages?|conversation|tasks?|session|server|anything|user writes)\b.*\b(?:(?:call|run|invoke|use|consult|pass) (?:this|it|me|log)|prepend|must be called)/i,
    /\b(?:unless|if|parameter)\b/i,
  ],
  [
    'when to call it, whatever the task',
    /\b(?:(?:call|run|invoke|use|consult|load) (?:this|me)|this must be called)\b.*\b(?:before|first|prior|after|for|on|at|in)\b.*\b(?:any|every|each|all)(?: \w+){0,2} (?:tools?|commands?|requests?|messages?|tasks?|conversations?|sessions?)\b/i,
    /\b(?:unless|if)\b/i,
  ],
  [
    'what to do whatever the user says',
    /\b(?:whatever|no matter what|regardless of what)\b.{0,30}\bthe user\b.{0,20}\b(?:asks?|says?|wants?|requests?|specif|told|gives?)/i,
  ],
  [
    'what to do whatever the user says',
    /\b(?:always|must|also|silently|has to|have to)\b.*\b(?:bcc|blind copy|forward|upload|post|copy|send|sent|set|go through)\b.*(?:\bhttps?:\/\/|[\w.+-]{1,64}@[\w-]|\brecipient\b|\baccount\b)|@\S+ in blind copy/i,
  ],
  ['what to do whatever the user says', /\b(?:curl|wget)\b[^\n]{0,80}\|\s{0,3}(?:ba|z)?sh\b/i],
  [
    'to act without approval',
    /\bwithout (?:asking|waiting for|requesting)\b.*\b(?:users?|permission|confirmation|approval|consent)|\b(?:not|n['’]t|never) ask (?:anybody|the user to confirm|for (?:permission|confirmation|approval|consent))/i,
    /\b(?:never|not|n['’]t)\b.*\bwithout\b/i,
  ],
  [
    'to act without approval',
    /\b(?:approved|authori[sz]ed|confirmed|consented|confirmation|approval|consent)\b.*\b(?:already|not necessary|not needed|not required)\b|\balready (?:approved|authori[sz]ed|confirmed|consented)/i,
    /\b(?:if|when|only|once|after|unless|until)\b/i,
  ],
  [
    'to be preferred to other tools',
    /\b(?:instead of|prefer|over|ignore|do not use|even if)\b.*\bothers?\b.*\b(?:tools?|servers?|ones?|better)\b|\bother (?:\w+ )?tools? (?:are|is) (?:broken|deprecated|insecure|unsafe|slow)|\beven if another\b|\bthe only one that works\b/i,
    /\b(?:if (?:the|you)|when|unless|unlike|for other)\b/i,
  ],
  [
    'with the markup of a prompt',
    /<\s*\/?\s*(?:important|system|secret)(?:[_ -](?:instructions?|prompt))?\s*>|<\|[a-z_]{2,30}\|>|\[\/?(?:INST|SYSTEM)\]|<<SYS>>|\b(?:system|assistant) (?:prompt|message|override|instructions)s?:\s|# ?system:|```system|<!--(?=[^>]{0,200}\b(?:assistant|system|ignore|must|always|never|model)\b)/i,
    /<secret> --/,
  ],
  [
    'to follow encoded text',
    /\b(?:decod|decrypt|base64|rot13)(?:e|ed|ing)?\b.{0,60}\b(?:follow|obey|carry out|act on|execute (?:it|the (?:result|text)))\b|\b(?=[A-Za-z0-9+/]{0,60}[0-9])[A-Za-z0-9+/]{160}/i,
  ],
];
/**
 * Matches a sentence, or up to 400 characters of it. A line break inside a sentence counts as a
 * space.
 */
const SENTENCE = /(?:[^.!?\n]|[.!?](?=\S)|\n(?!\s{0,20}(?:[\n*#•-]|\d))){1,400}/g;

/**
 * Returns up to eight suspicious parts of the texts that a model reads about a tool. Suspicious
 * parts are hidden characters, words that mix letters from two alphabets, and sentences that
 * manipulate the model.
 *
 * The texts of legitimate tools contain none of these, in any language. Manipulation is detected
 * only in English.
 *
 * @param tool Plain data. All strings and field names of the tool are checked.
 */
export function poisonedTexts(tool: Readonly<Record<string, unknown>>): readonly PoisonedText[] {
  const found: PoisonedText[] = [];
  for (const [path, text] of textsIn(tool)) {
    const find = (rule: PoisonedText['rule'], what: string, offset: number, length: number) =>
      found.push({ rule, path, offset, message: `${what} ${placeOf(path, text, offset, length)}` });
    for (const { kind, offset, length } of hiddenParts(text).slice(0, MOST))
      find('hidden-text', kind, offset, length);
    for (const { offset, length } of mixedWords(text).slice(0, MOST))
      find('mixed-alphabets', 'letters of two alphabets in one word', offset, length);
    const plain = readAloud(text);
    for (const [about, offset, length] of steeringIn(plain.text)) {
      const start = plain.at(offset);
      find(
        'instruction-text',
        `an instruction to the model ${about}`,
        start,
        plain.at(offset + length) - start,
      );
    }
    if (found.length >= MOST) break;
  }
  return Object.freeze(found.slice(0, MOST));
}

/** Returns the first matching sentence for each purpose of manipulation. */
function steeringIn(
  text: string,
): readonly (readonly [about: string, offset: number, length: number])[] {
  const found = new Map<string, readonly [string, number, number]>();
  for (const { 0: sentence, index } of text.matchAll(SENTENCE)) {
    if (sentence.length < SHORTEST) continue;
    for (const [about, pattern, unless] of STEERINGS) {
      if (found.has(about) || !pattern.test(sentence) || unless?.test(sentence) === true) continue;
      const offset = index + sentence.search(/\S/);
      found.set(about, [about, offset, index + sentence.length - offset]);
    }
  }
  return [...found.values()];
}

/** Matches a word that says when to call a tool. */
const STEERING =
  /\b(?:before|after|instead|always|never|must|first|when|whenever|prefer|not|avoid|rather)\b|n['’]t\b/i;

/**
 * Match the text around a quoted name that refers to a tool rather than a parameter: "call
 * `search`", "`search` is used".
 */
const CALL = /\b(?:call(?:ing)?|invok(?:e|ing)|run(?:ning)?|tool) $/i;
const CALLED = /^["'`] (?:tool|is|was|has|runs?)\b/i;

/**
 * Returns the names of tools that a text tells the model to call, with their positions. Looks for
 * identifiers and quoted names in sentences that say when to call something.
 */
export function steeredNames(
  tool: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, Pick<PoisonedText, 'path' | 'offset' | 'message'>> {
  const names = new Map<string, Pick<PoisonedText, 'path' | 'offset' | 'message'>>();
  for (const [path, text] of textsIn(tool)) {
    for (const { 0: sentence, index } of text.matchAll(/(?:[^.!?\n]|[.!?](?=\S))+/g)) {
      if (!STEERING.test(sentence)) continue;
      for (const { 0: word, 1: quote, 2: name = '', index: at } of sentence.matchAll(
        /(["'`]?)([A-Za-z][\w.-]*\w)/g,
      )) {
        const isCalled =
          quote !== '' &&
          (CALLED.test(sentence.slice(at + word.length, at + word.length + 8)) ||
            CALL.test(sentence.slice(Math.max(0, at - 12), at)));
        if (names.has(name) || !(isCalled || /[_.-]|[a-z][A-Z]/.test(name))) continue;
        const offset = index + at;
        names.set(name, { path, offset, message: placeOf(path, text, offset, word.length) });
      }
    }
  }
  return names;
}

/**
 * Yields all strings in plain data with their JSON pointers. Field names are included as strings,
 * with spaces instead of underscores.
 */
function* textsIn(value: unknown, path = ''): Generator<readonly [path: string, text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* textsIn(item, `${path}/${index}`);
  else if (isPlainObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (/[^A-Za-z]/.test(key)) yield [below, key.replaceAll('_', ' ')];
      yield* textsIn(item, below);
    }
  }
}

/** The number of characters around a position that are searched for secrets. */
const AROUND = 200;

/**
 * Describes a position briefly for messages. Hidden characters are replaced with their codes, and
 * text that contains a credential isn't shown.
 */
function placeOf(path: string, text: string, offset: number, length: number): string {
  const around = text.slice(Math.max(0, offset - AROUND), offset + AROUND);
  const shown = withoutSecrets(around) === around ? escapedPart(text, offset, length) : '[secret]';
  return `at ${escapedPart(withoutSecrets(path.slice(0, 2 * AROUND)), 0, 100).replace(/^"|"$/g, '')}, character ${offset + 1}: ${shown}`;
}
