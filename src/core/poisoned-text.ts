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

/** Characters of the shortest sentence that steers. */
const SHORTEST = 12;
/** Findings of one tool; a text full of them says no more. */
const MOST = 8;

/** A sentence tells the model what to do when it has a word of each group, in any order, and none that turns it into honest advice. */
interface Steering {
  readonly about: string;
  readonly all: readonly [RegExp, ...RegExp[]];
  readonly none?: RegExp;
}

/** Files with credentials; `config` and `known_hosts` have none. */
const SECRET_FILES =
  /\bid[_ ]rsa\b|\bid[_ ]ed25519\b|~\/\.ssh\b(?!\/(?:config|known_hosts))|\.aws\/credentials\b|\/etc\/(?:passwd|shadow)\b|\betc (?:passwd|shadow)\b|\bmcp\.json\b|\.netrc\b|\.npmrc\b|\.pgpass\b|\.gnupg\b|\.git-credentials\b|\.(?:ba|z)sh_history\b|\bclaude_desktop_config\b|\bssh (?:private )?keys?\b/i;
const HANDING_OVER =
  /\b(?:read|open|print|cat|list|load|look|take|fetch|send|pass|hand|includ|attach|collect|gather|forward|append|upload|submit|suppl|put|past|fill|hold|content|text of|copy|share|export|encode|grab|drop|insert|add|dump|extract|as (?:the|a|its) \w+)(?:e|y|ies|s|es|ed|ing)?\b/i;
const TELLING =
  /\b(?:tell|mention|inform|reveal|disclose?|notify|bother|alert|say|show|explain|report|notice|aware)(?:ing|s)?\b/i;
const NOT = /\b(?:not|never|without|avoid|nothing|nobody|no need|refrain)\b|n['’]t\b/i;

/** The ways to steer a model that were published, by what they are about; docs/lint.md names the sources. */
const STEERINGS: readonly Steering[] = [
  {
    about: 'to keep something from the user',
    all: [
      NOT,
      TELLING,
      /\b(?:the|this) users?\b|\bto users\b|\b(?:in|of) your (?:answer|response|reply|summary)\b/i,
      /\b(?:not|never|without|avoid|nothing|no need|refrain from|need)(?: \w+){0,3}? (?:to )?(?:tell|mention|inform|reveal|disclos|notify|bother|alert|say|about this|notice)|n['’]t (?:tell|mention|inform|reveal|disclose|notify|bother|alert|say)|\bnothing about\b/i,
    ],
    none: /\bunless\b|\busers? (?:did|has|have|do|does)(?: not|n['’]t) (?:mention|say|tell)/i,
  },
  {
    about: 'to keep something from the user',
    all: [
      /\b(?:hid|conceal|secret|silent|covert|discreet|keep)(?:e|es|ing|ly)?\b/i,
      /\bfrom (?:the )?users?\b|\bwithout (?:the |informing |telling )*users?\b|\bkeep (?:this|it|that)(?: \w+)? (?:a )?secret\b/i,
    ],
  },
  {
    about: 'to keep something from the user',
    all: [
      /\busers? (?:do|does|must|should|will|may|need)(?: not|n['’]t|es not| never) (?:\w+ ){0,2}?(?:know|notice|see|learn|find|hear|be (?:told|informed|aware))|\b(?:not|never|n['’]t) let (?:the |any )?(?:users?|anyone|anybody) (?:know|see|notice|find)|\b(?:not|never|n['’]t) make (?:the )?users? aware|\bbehind the user['’]?s?\b|\bwithout the user['’]s knowledge\b/i,
    ],
    none: /\b(?:if|when|unless|because)\b/i,
  },
  {
    about: 'to keep something from the user',
    all: [
      /\b(?:not|n['’]t|never) (?:mention|reveal|disclose) (?:this|these|that|the) (?:tool|step|call|instruction|parameter|requirement|note|process|fact|rule|message)s?\b|\bleave (?:this|it|them|that) out of (?:your|the) (?:answer|response|reply|summary)\b|\bas if (?:this|the|it|nothing)\b[^.]{0,20}\b(?:never|not|had) happened/i,
    ],
  },
  {
    about: 'to leave other instructions aside',
    all: [
      /\b(?:ignor|disregard|forget|neglect|discard|abandon|no attention|set aside|void|null|obey|no longer|(?:not|stop|n['’]t|never) (?:follow|obey|apply|listen to|comply with|honou?r))(?:e|ed|s|ing)?\b/i,
      /\b(?:instructions?|prompts?|guidelines|guardrails|directives|everything above|told before|rules (?:you|above)|restrictions|safety rules|obey the tool)\b/i,
      /\b(?:your|you|system prompt|previous|prior|earlier|former|preceding|above|before|original|safety|given)\b/i,
    ],
  },
  {
    about: 'to leave other instructions aside',
    all: [
      /\b(?:override|bypass|supersede|replace)s?\b|\b(?:precedence|priority) over\b/i,
      /\b(?:your|safety|previous|user['’]?s?|system) (?:\w+ )?(?:guidelines|guardrails|instructions|rules)\b|\byour (?:system )?prompt\b|\binstructions\b[^.]{0,20}\bthose of the (?:developer|user|operator|system)\b|\b(?:developer|operator)['’]s instructions\b/i,
    ],
  },
  {
    about: 'to leave other instructions aside',
    all: [
      /\b(?:guidelines|guardrails|safety rules|your (?:rules|instructions))\b[^.]{0,12}\b(?:do not|don['’]t|no longer) apply\b|\bfrom now on\b[^.]{0,20}\b(?:you|always|must|obey)\b|\b(?:new|updated|real|actual|true) (?:instructions|system prompt)\b[^.]{0,12}\b(?:follow|below|are|begin|start)\b/i,
    ],
  },
  {
    about: 'who the model is',
    all: [
      /\byou are now (?:an?|in|the)\b|\byou are (?:operating )?in (?:developer|debug|admin|god|unrestricted) mode\b|\bact as (?:an? )?(?:root|admin(?:istrator)?|unrestricted)\b|\bpretend (?:to be|that you are|you are)\b/i,
    ],
  },
  {
    about: 'to give away secrets',
    all: [SECRET_FILES, HANDING_OVER],
    none: /\b(?:never|not|such as|e\.g|path (?:of|to)|location of)\b/i,
  },
  {
    about: 'to give away secrets',
    all: [
      /\.env\b|\bprivate keys?\b|\bcredentials\b|\bpasswords?\b|\b(?:api|access) (?:keys?|tokens?)\b|\bsecrets\b|\benvironment variables of\b|\b(?:files|documents|folders) (?:below|in|of|under) (?:the|your) home\b|\bhome (?:folder|directory)\b|\b(?:session|browser) cookies\b|\bcookies of\b|\boutput of `?(?:env|printenv|history)\b/i,
      /\b(?:contents? of|output of|of (?:the|this) (?:user|computer|session)|all|every|everything|the user['’]s|of this (?:machine|session)|below|you (?:can|know)|(?:answer|reply|respond) with)\b/i,
      /\b(?:send|pass|includ|attach|collect|gather|forward|append|upload|submit|suppl|paste|put|add|answer|reply|respond|goes into)(?:e|y|ies|ing)?\b/i,
    ],
    none: /^\W*(?:gets|lists|returns)\b|\b(?:not|never|avoid|without|instead|example)\b|n['’]t\b/i,
  },
  {
    about: 'to give away the conversation',
    all: [
      /\b(?:(?:conversation|chat|message|dialog) (?:history|transcript|log)|transcript|system prompt|(?:conversation|chat|dialog(?:ue)?) so far|(?:this|our|the current|whole|entire|full) (?:conversation|chat|dialog(?:ue)?)|user (?:has )?(?:said|wrote|written|told)|(?:previous|earlier|prior|past) (?:user )?messages)\b/i,
      /\b(?:full|entire|complete|whole|all|everything|every|verbatim|so far|word (?:by|for) word|previous|earlier|history)\b/i,
      /\b(?:pass|put|giv|send|includ|attach|fill|append|forward|submit|suppl|need|call|provid|add|insert|write|take|all messages)(?:e|s|ing|y)?\b/i,
    ],
    none: /\b(?:returns?|not|never|avoid|without|retrieves?|gets?|lists?|fetch(?:es)?)\b/i,
  },
  {
    about: 'to give away the conversation',
    all: [
      /\b(?:full|entire|complete|whole|all|everything|every)\b[^.]{0,30}\b(?:of|in|from) (?:this|our|the current) (?:chat|conversation|dialog(?:ue)?)\b/i,
    ],
  },
  {
    about: 'when to call it, whatever the task',
    all: [
      /\b(?:any|every|each|all)(?: (?:other|single|new|further|of the|shell|user))* (?:tools?|commands?|requests?|messages?|turns?|prompts?|conversations?|sessions?|chats?|tasks?|answers?|responses?|actions?|time the user|time any tool)\b|\banything else\b|\bbefore (?:\w+ ){1,2}anything\b|\b(?:by|of) another tool\b|\ba (?:conversation|session|chat) (?:starts|begins|is opened)\b|\b(?:once|when|after|upon|as soon as) (?:you (?:load|read|see|connect|discover)|(?:loading|reading|seeing|connecting)|this server)\b|\bregardless of (?:the (?:task|request)|what the user)\b/i,
      /\b(?:before|prior to|first|start|beginning|whenever|when|always|must|have to|mandatory|regardless|as soon as|every time|each time|for every request)\b/i,
      /\b(?:(?:call|run|use|load|invoke|consult|query|choose) this (?:tool|one|step)|consult this|this (?:tool|one) (?:must|has to|is to)|(?:call|run|invoke|load|consult) \w+ (?:immediately|first|again)|(?:call|invoke|run|use|consult)(?:ed|d)? (?:me|it|this|log|first)|(?:call|run|invoke|consult|pass|prepend) (?:it|`[^`]{1,60}`|log)|must (?:always )?be (?:called|run|used|invoked))\b|\bthis must be called\b|\bprepend\b|\bpass it\b|\b(?:call|invoke)\b[^.]{0,30}\bfirst\b/i,
    ],
    none: /\b(?:unless|if (?:you|the))\b/i,
  },
  {
    about: 'what to do whatever the user says',
    all: [
      /\b(?:whatever|no matter what|regardless of what)\b[^.]{0,30}\bthe user\b[^.]{0,20}\b(?:asks?|says?|wants?|wishes|specif|requests?|told|gives?)/i,
    ],
  },
  {
    about: 'what to do whatever the user says',
    all: [
      /\b(?:all|any|every|each|outgoing|outbound)(?: \w+){0,2}? (?:e-?mails?|mails?|messages?|payments?|transfers?|orders?)\b/i,
      /\b(?:must|should|ha(?:s|ve) to|needs? to|are to|is to)\b/i,
      /\b(?:sent|forwarded|paid|copied|routed|go|copy|bcc|cc)\b/i,
      /@|\b(?:first|proxy|account|always|address)\b/i,
    ],
  },
  {
    about: 'what to do whatever the user says',
    all: [
      /\b(?:always|must|also|silently)\b[^.]{0,30}\b(?:set|change|replace|add|use|put|send|post|forward|upload|report|copy|transmit)\b/i,
      /\b(?:recipient|bcc|blind copy|account|destination)\b|\bhttps?:\/\/|[\w.+-]{1,64}@[\w-]/i,
      /\b(?:also|always set|always change|must (?:set|change|replace)|silently|to https?|bcc|blind)\b|\b(?:change|replace)\b/i,
    ],
  },
  {
    about: 'what to do whatever the user says',
    all: [/\b(?:curl|wget)\b[^\n]{0,80}\|\s{0,3}(?:ba|z)?sh\b/i],
  },
  {
    about: 'to act without approval',
    all: [
      /\bwithout (?:asking|waiting for|consulting|getting|requesting)\b[^.]{0,20}\b(?:users?|permission|confirmation|approval|consent)\b|\b(?:not|n['’]t|need not|never|no need to) (?:ask|wait for|request)\b[^.]{0,30}\b(?:users?|anybody|anyone|permission|confirmation|approval|consent|confirm|approve)\b|\bskip (?:the |any |all )?(?:confirmation|approval|permission)s?\b/i,
    ],
    none: /\b(?:never|not|n['’]t)\b[^.]{0,60}\bwithout\b|\b(?:ask|wait for|request)\b[^.]{0,20}\buser (?:for|to) (?!confirm|permission|approv|consent)/i,
  },
  {
    about: 'to act without approval',
    all: [
      /\busers? (?:has|have) (?:already |pre-?)+(?:approved|authori[sz]ed|confirmed|consented|granted|agreed)\b|\b(?:confirmation|approval|consent) (?:is|was) (?:not (?:necessary|needed|required)|unnecessary|implied|already)\b|\bno (?:confirmation|approval|consent) (?:is )?(?:necessary|needed|required)\b|\bassume (?:that )?(?:the users? )?(?:consents?|approv|agree|permission)/i,
    ],
    none: /\b(?:if|when|only|once (?:the|they|it)|after|unless|until)\b/i,
  },
  {
    about: 'to be preferred to other tools',
    all: [
      /\b(?:all|any|every|the)? ?others?\b(?: \w+){0,2}? (?:tools?|servers?|functions?|ones?)\b|\bother tools?\b|\bothers are\b/i,
      /\b(?:in preference|prefer(?:red)?|over (?:all|any|every|other)|instead of (?:all|any|every|other)|never|not|ignore|broken|slow|deprecated|insecure|unsafe|outdated|unreliable|malicious|worse)\b/i,
      /\b(?:use|used|choose|chosen|call|select|selected|prefer(?:red)?|always|must|ignore)\b|\b(?:are|is) (?:broken|slow|deprecated|insecure|unsafe|outdated|unreliable|malicious|worse)\b/i,
    ],
    none: /\b(?:if|when|unless|for other|with other|by other|only)\b/i,
  },
  {
    about: 'to be preferred to other tools',
    all: [
      /\beven (?:if|when|where) (?:another|others?|a different)\b/i,
      /\b(?:choose|use|prefer|pick|select|call)\b/i,
    ],
  },
  {
    about: 'to be preferred to other tools',
    all: [/\bthe only (?:tool|one) that (?:works|is (?:safe|secure|allowed))\b/i],
  },
  {
    about: 'to follow what is encoded',
    all: [
      /\b(?:decod|decrypt|deobfuscat|unscrambl|base64|rot13)(?:e|ed|ing)?\b/i,
      /\b(?:follow|obey|carry out|act on|do what|next instruction|execute (?:it|them|the (?:result|text)))\b/i,
    ],
  },
  {
    about: 'to follow texts as instructions',
    all: [/\b(?:follow|obey|comply with)\b[^.]{0,20}\binstructions?\b[^.]{0,30}\bwithout\b/i],
  },
];

/** Markup of prompts, and texts that are no language, anywhere. */
const MARKS: readonly (readonly [about: string, pattern: RegExp])[] = [
  [
    'with the markup of a prompt',
    /<\s*(?:\/?\s*(?:important|system)|\/\s*(?:instructions?|secret|hidden|admin|assistant|developer|critical|override))(?:[_ -](?:instructions?|prompts?|message|note))?\s*>|<\|[a-z_]{2,30}\|>|\[\/?INST\]|\[\/?(?:SYSTEM|ADMIN|HIDDEN|OVERRIDE)\]|<<SYS>>|\bsystem (?:prompt|message|instruction|override)s?:\s|```system\b/i,
  ],
  [
    'with the markup of a prompt',
    /\b(?:SYSTEM|ASSISTANT|MODEL|AGENT|LLM|AI) (?:PROMPT|MESSAGE|INSTRUCTIONS?|OVERRIDE)\b/,
  ],
  [
    'with the markup of a prompt',
    /<!--(?=[^>]{0,200}\b(?:assistant|system|ignore|must|always|never|also|call|send|read|instructions?|model|agent)\b)|\[\/\/\]: #/i,
  ],
  [
    'with the markup of a prompt',
    /(?:^|\n)\s{0,8}#{1,6}\s{0,4}(?:system|assistant|instructions? (?:for|to) the (?:model|assistant)|hidden instructions?)\s{0,4}:?\s{0,4}(?:\n|$)/i,
  ],
  [
    'to follow what is encoded',
    /(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{160})(?=[A-Za-z0-9+/]{0,60}[0-9])(?=[A-Za-z0-9+/]{0,60}[A-Z])(?=[A-Za-z0-9+/]{0,60}[a-z])[A-Za-z0-9+/]{160,1000}/,
  ],
];
/** A sentence, or 400 characters of one; a line break inside it is a blank. */
const SENTENCE = /(?:[^.!?\n]|[.!?](?=\S)|\n(?!\s{0,20}(?:[\n*#•-]|\d))){1,400}/g;

/**
 * Returns what is odd in the texts that models read of a tool, or of a part of one, at most eight places: hidden characters, words with letters
 * of two alphabets, and sentences that steer the model. Honest tools have none in any language; steering is known in English only.
 *
 * @param tool plain data: its strings are read wherever they are, and names of its fields as well.
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

/** Finds the first sentence of each way to steer a model. */
function steeringIn(
  text: string,
): readonly (readonly [about: string, offset: number, length: number])[] {
  const found = new Map<string, readonly [string, number, number]>();
  for (const [about, mark] of MARKS) {
    const match = found.has(about) ? null : mark.exec(text);
    if (match !== null) found.set(about, [about, match.index, match[0].length]);
  }
  for (const { 0: sentence, index } of text.matchAll(SENTENCE)) {
    if (sentence.length < SHORTEST) continue;
    for (const { about, all, none } of STEERINGS) {
      if (
        found.has(about) ||
        !all.every((words) => words.test(sentence)) ||
        none?.test(sentence) === true
      )
        continue;
      const offset = index + sentence.search(/\S/);
      found.set(about, [about, offset, index + sentence.length - offset]);
    }
  }
  return [...found.values()];
}

/** A word that says when tools are to be called. */
const STEERING =
  /\b(?:before|after|instead|always|never|must|first|when|whenever|prefer|not|avoid|rather)\b|n['’]t\b/i;

/** The surroundings of a word in quotes that is the name of a tool, and not of a parameter: "call `search`", "`search` is used". */
const CALL = /\b(?:call(?:ing)?|invok(?:e|ing)|run(?:ning)?|tool) $/i;
const CALLED = /^["'`] (?:tool|is|was|has|runs?)\b/i;

/** Returns the names in sentences that say when tools are to be called: identifiers, and words in quotes that are called; with their places. */
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

/** The strings of plain data with their JSON pointers; a name of a field is a string as well, with its blanks instead of underscores. */
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

/** Characters around a place in which a secret may begin. */
const AROUND = 200;

/** Returns a place as messages show it: short, with everything hidden written as its code, and nothing of a text with a credential there. */
function placeOf(path: string, text: string, offset: number, length: number): string {
  const around = text.slice(Math.max(0, offset - AROUND), offset + AROUND);
  const shown = withoutSecrets(around) === around ? escapedPart(text, offset, length) : '[secret]';
  return `at ${escapedPart(withoutSecrets(path.slice(0, 2 * AROUND)), 0, 100).replace(/^"|"$/g, '')}, character ${offset + 1}: ${shown}`;
}
