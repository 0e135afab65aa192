/** The maximum length of an error message that is passed on, in characters. */
const LONGEST = 1_000;
/**
 * The number of characters that are examined. Secrets are replaced before the message is truncated,
 * because half a secret wouldn't be recognized.
 */
const LOOKED_AT = 10 * LONGEST;
const NO_MESSAGE = 'no message';

/*
 * Every regular expression below takes linear time: its lookbehind lets it start only once per
 * word, and no two of its parts match the same text.
 */

/** The known token formats, anywhere in a text. */
const SECRETS: readonly RegExp[] = [
  /(?<![A-Za-z0-9])(?:sk|rk|pk|gsk|whsec|gh[opsur]|github_pat|glpat|dckr_pat|xox[a-z])[-_][A-Za-z0-9_-]{8,}/g,
  /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}/g,
  /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{12,}/g,
  /(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{20,}/g,
  /(?<![A-Za-z0-9])ya29\.[0-9A-Za-z_-]{10,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w.-]{2,}/g,
  // Requires a digit or capital letter, because "basic authentication" isn't a credential.
  /(?<![\w-])(?:Bearer|bearer|BEARER|Basic|basic|BASIC)\s{1,3}(?=[a-z]*[A-Z0-9+/=_~])[A-Za-z0-9._~+/=-]{8,}/g,
];
const COOKIES = /(?<![\w-])((?:set-)?cookie["'`]?\s{0,3}[=:]\s{0,3})\S.*/gi;
/**
 * Matches a value after a name such as `API_KEY=` or `"clientSecret": `. Doesn't match an error
 * message about a field with such a name.
 */
const NAMED_SECRET =
  /(?<![\w-])([\w-]{0,200}?(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passw(?:or)?d|passphrase|authorization)["'`]?\s{0,3}[=:]\s{0,3})(?!(?:expected|required|missing|invalid|undefined|null|none|not|is|was|has|must|cannot|it|the|a|no|lies)(?![^\s,;.]))(?:"[^"]+"|'[^']+'|`[^`]+`|["'`]?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,3})?[^\s"'`&,;]+)/gi;
const SIGNED_URL = /([?&](?:key|sig|code|[\w-]{0,60}?signature)=)[^\s&"'`#]+/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@]{0,200}:)[^\s/]{1,500}@/g;

const FILE_URL = /(?<!\w)file:\/\/[^\s"'`<>()]*/gi;
/** Matches a quoted path, which can contain spaces. */
const QUOTED_PATH = /(["'`])((?:[A-Za-z]:[\\/]|\\\\|\/(?!\/))[^"'`]{1,4096})\1/g;
/**
 * Matches an absolute path. Doesn't match parts of words or of relative paths (`a/b`, `../a`,
 * `**\/a`), or the `//` of a URL.
 */
const ABSOLUTE_PATH =
  /(?<![\p{L}\p{N}_/\\.~*@%$+!?#&\])}-])(?:[A-Za-z]:[\\/]{1,2}|\\\\|\/(?!\/))(?:[^\s/\\'"`:,;()<>|]{1,255}[/\\]{1,2}){1,64}(?:[^\s/\\'"`:,;()<>|]{1,255})?/gu;

/**
 * Returns the first line of an error's message without credentials and absolute paths, so that it
 * can leave the process.
 *
 * Text that looks like a credential becomes `[secret]`, and paths are reduced to their last part.
 * Errors are often built from data that a tool was working on. The replacement catches most secrets
 * but not all, so don't write secrets into messages.
 */
export function publicMessage(error: unknown): string {
  let text = withoutSecrets(firstLine(error));
  text = text
    .replace(FILE_URL, lastPart)
    .replace(QUOTED_PATH, (_, quote: string, path: string) => `${quote}${lastPart(path)}${quote}`)
    .replace(ABSOLUTE_PATH, lastPart);
  return text.length > LONGEST
    ? `${text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, '')}…`
    : text;
}

/**
 * Replaces everything in a line that looks like a credential with `[secret]`. Limit the line's
 * length first, because the work grows with the length.
 */
export function withoutSecrets(line: string): string {
  let text = line;
  for (const secret of SECRETS) text = text.replace(secret, '[secret]');
  return text
    .replace(COOKIES, '$1[secret]')
    .replace(NAMED_SECRET, '$1[secret]')
    .replace(SIGNED_URL, '$1[secret]')
    .replace(URL_PASSWORD, '$1[secret]@');
}

/** Matches the host part of a URL, including any credentials. */
const URL_HOST = /(?<=:\/\/)[^\s/"'`<>()?#]{1,500}/g;
const IP_ADDRESS =
  /(?<![\w.:-])(?:(?:\d{1,3}\.){3}\d{1,3}|\[[\da-f:.]{2,45}\]|(?:[\da-f]{1,4}:){3,7}[\da-f]{1,4}|::(?:1\b|ffff:[\d.]{7,15})|(?=[\da-f:]{0,40}\d)(?:[\da-f]{1,4}:){1,6}:(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,5}(?:%\w{1,15})?)?)(?::\d{1,5})?(?![\w.]*\w)/gi;
/** Matches a host after the code of a network error, or after the word "host". */
const NAMED_HOST =
  /(?<![\w-])((?:(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|host(?:name)?)\s{1,3}|(?:[Hh]ost(?:[Nn]ame)?|HOST(?:NAME)?)["'`]?\s{0,3}[:=]\s{0,3})["'`]?)(?!is\b|was\b|not\b|has\b|key\b|name\b|unreachable\b)[A-Za-z\d][\w.-]{0,253}(?::\d{1,5})?/g;
/** Matches a quoted name after words that refer to a server. */
const QUOTED_HOST =
  /(?<![\w-])((?:server\s(?:at|on)|host\s?name|(?:connect|connected|connecting|connection)\sto)\s{1,3})(["'`])[A-Za-z\d][\w.-]{0,253}(?::\d{1,5})?\2/gi;
/**
 * Matches a host name that ends in a common top-level domain. A name that ends like a file or
 * package, such as `my.test` or `my.tools`, only counts as a host name if it has at least three
 * parts.
 */
const DOMAIN =
  /(?<![\w@/\\.-])(?:(?:[a-z\d](?:[a-z\d-]{0,62})\.){1,10}(?:com|net|org|io|dev|app|ai|co|cloud|info|biz|eu|de|fr|uk|us|ch|nl|jp|cn|gov|edu|mil|internal|local|localdomain|corp|lan|intranet|home|svc|cluster|private|example|invalid|xyz|bank|tech)|(?:[a-z\d](?:[a-z\d-]{0,62})\.){2,10}(?:test|tools|solutions|systems|services|network|online|site|software|zone|group|global|health|media))(?::\d{1,5})?(?![\w-]|\.\w)/gi;
/**
 * Matches a dotted name with a port. Doesn't match a file name followed by a number, because that
 * number is a line number.
 */
const DOTTED_AND_PORT =
  /(?<![\w@/\\.-])(?:[a-z\d][a-z\d-]{0,62}\.){1,10}(?!(?:[cm]?[jt]sx?|json[c5l]?|mdx?|txt|log|csv|ya?ml|toml|xml|html?|s?css|less|vue|svelte|py|rb|go|rs|java|kts?|scala|swift|php|cs|cc|cpp|[chm]|hpp|sh|bash|ps1|sql|lua|dart|exs?|erl|hs|lock|conf|cfg|ini|env|test|spec):)[a-z][a-z\d-]{1,62}:\d{2,5}(?![\w:]|\.\w)/gi;
/**
 * Matches a name without a dot: localhost, a name with a common port, or a hyphenated name with any
 * port.
 */
const HOST_AND_PORT =
  /(?<![\w./\\-])(?:localhost(?::\d{1,5})?|[a-z][a-z\d-]{1,62}:(?:80|443|\d{4,5})|[a-z][a-z\d]{0,40}-[a-z\d-]{1,40}:\d{2,3})(?![\w:]|\.\w)/gi;
/** The patterns for all kinds of hosts, in the order in which they're replaced. */
const HOSTS: readonly (readonly [RegExp, string])[] = [
  [URL_HOST, '[host]'],
  [IP_ADDRESS, '[host]'],
  [NAMED_HOST, '$1[host]'],
  [QUOTED_HOST, '$1$2[host]$2'],
  [DOTTED_AND_PORT, '[host]'],
  [DOMAIN, '[host]'],
  [HOST_AND_PORT, '[host]'],
];

/**
 * Replaces everything in a text that looks like a host with `[host]`. Limit the text's length
 * first, because the work grows with the length.
 */
export function withoutHosts(text: string): string {
  return HOSTS.reduce((shown, [host, replacement]) => shown.replace(host, replacement), text);
}

/**
 * Matches escape sequences that color terminal output, and other control characters within a line.
 */
const TERMINAL_CONTROLS =
  // eslint-disable-next-line no-control-regex
  /\u001b\[[0-9;:?]{0,40}[A-Za-z]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Returns the last part of a path, which is enough to recognize the file. */
function lastPart(path: string): string {
  const parts = path.split(/[/\\]+/).filter((part) => part !== '');
  // A path such as `/tmp` doesn't reveal anything.
  return parts.length < 2 ? path : parts.at(-1)!;
}

function firstLine(error: unknown): string {
  try {
    const message: unknown =
      typeof error === 'object' && error !== null
        ? (error as { message?: unknown }).message
        : error;
    if (typeof message !== 'string') return NO_MESSAGE;
    return (
      message
        .slice(0, LOOKED_AT)
        .replace(TERMINAL_CONTROLS, '')
        .trim()
        .split(/[\r\n]/, 1)[0]!
        .trim() || NO_MESSAGE
    );
  } catch {
    return NO_MESSAGE; // A getter threw.
  }
}
