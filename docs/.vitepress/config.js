import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { referenceSidebars } from './reference-sidebar.js';

const DOCS = join(import.meta.dirname, '..');
const ROOT = join(DOCS, '..');
const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The repository's address; a package that nobody has published yet has none. */
const REPOSITORY = repository?.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** The guides in the order in which a user needs them; the titles are those of the sidebar. */
const GUIDES = {
  Start: {
    'concepts.md': 'Concepts',
    'set-up.md': 'Set up',
    'first-tools.md': 'Your first tools',
    'migrating-from-lists.md': 'Migrating from lists',
    'examples/index.md': 'Examples',
    'examples/toolkit-with-a-database.md': 'Example: a database',
  },
  Build: {
    'writing-tools.md': 'Writing tools',
    'bundled-tools.md': 'Bundled tools',
    'openapi.md': 'Tools from an API',
    'manifests.md': 'Manifests',
    'testing-tools.md': 'Testing tools',
    'lint.md': 'Lint',
    'audit.md': 'Audit',
  },
  Select: {
    'choosing-tools.md': 'Choosing tools',
    'evaluating.md': 'Measuring selection',
    'search-and-scoring.md': 'Search and scoring',
  },
  Control: {
    'running-tools.md': 'Running tools',
    'approvals.md': 'Approvals',
    'policies.md': 'Policies',
    'flows.md': 'Flows',
    'questions-and-manual-tools.md': 'Questions and manual tools',
  },
  Connect: {
    'frameworks.md': 'Frameworks',
    'chat.md': 'Chat',
    'sessions.md': 'Sessions',
    'mcp.md': 'MCP: using servers',
    'serving-mcp.md': 'MCP: serving tools',
  },
  Operate: {
    'command-line.md': 'Command line',
    'operating.md': 'Operating',
    'troubleshooting.md': 'Troubleshooting',
    'options.md': 'All options',
    'reference/index.md': 'API reference',
  },
  Project: {
    'compared.md': 'Compared',
    'benchmarks.md': 'Benchmarks',
    'architecture.md': 'Architecture',
    'releasing.md': 'Releasing',
    'decisions/index.md': 'Decisions',
  },
};

/** Pages that carry another name on GitHub, where a folder shows its README. */
const REWRITES = { 'examples/README.md': 'examples/index.md', 'decisions/README.md': 'decisions/index.md' };
const sourceOf = (page) => Object.entries(REWRITES).find(([, to]) => to === page)?.[0] ?? page;
const isThere = (page) => page.startsWith('reference/') || existsSync(join(DOCS, sourceOf(page)));
const linkTo = (page) => `/${page.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;

const sidebar = Object.entries(GUIDES).map(([text, pages]) => ({
  text,
  items: Object.entries(pages).filter(([page]) => isThere(page)).map(([page, title]) => ({ text: title, link: linkTo(page) })),
}));

const decisions = () => readdirSync(join(DOCS, 'decisions')).filter((file) => /^\d/.test(file)).sort().map((file) => ({ text: /^# (.+)$/m.exec(readFileSync(join(DOCS, 'decisions', file), 'utf8'))?.[1] ?? file, link: `/decisions/${file.replace(/\.md$/, '')}` }));

/** Leads links that work on GitHub to the page of the site, or to the repository where the site has none. */
function linksAsOnGitHub(md) {
  md.core.ruler.push('links-as-on-github', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue;
      const [path, anchor] = token.attrGet('href').split('#');
      if (path === '' || /^[a-z]+:|^\//i.test(path)) continue;
      const target = relative(DOCS, join(dirname(env.realPath ?? env.path), path));
      if (!target.startsWith('..') && target.endsWith('.md')) {
        if (REWRITES[target] !== undefined) token.attrSet('href', `/${REWRITES[target]}${anchor === undefined ? '' : `#${anchor}`}`);
        continue;
      }
      if (existsSync(join(DOCS, target, 'README.md')) || target === 'reference') token.attrSet('href', linkTo(`${target}/index.md`));
      else if (existsSync(join(DOCS, target)) && REPOSITORY === undefined) token.attrSet('href', '#');
      else if (existsSync(join(DOCS, target))) token.attrSet('href', `${REPOSITORY}/${/\.\w+$/.test(target) ? 'blob' : 'tree'}/main/${join('docs', target)}${anchor === undefined ? '' : `#${anchor}`}`);
      else throw new Error(`Expected links to files that are there, got ${path} in ${relative(ROOT, env.path)}.`);
    }
  });
}

/** Shows code between backticks as it is written: Vue would evaluate the braces of `${{ secrets.NAME }}`. */
function codeAsWritten(md) {
  const render = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (tokens, at, ...rest) => {
    tokens[at].attrSet('v-pre', '');
    return render(tokens, at, ...rest);
  };
}

/** Appends the list of records to their page; on GitHub the folder itself shows it. */
const listOfDecisions = {
  name: 'list-of-decisions',
  enforce: 'pre',
  transform: (code, id) => (id.endsWith('/decisions/README.md') ? `${code}\n${decisions().map(({ text, link }) => `- [${text.replace(/^\d+\. /, '')}](${link})`).join('\n')}\n` : undefined),
};

/** Names headings as GitHub does, so that one link serves both. */
const slugify = (heading) => heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');

export default defineConfig({
  title: 'tooldex',
  description: 'Agent tools declared once: which write, which need approval, which a request needs.',
  lang: 'en',
  lastUpdated: false,
  metaChunk: true,
  rewrites: REWRITES,
  srcExclude: ['node_modules/**', 'examples/**/node_modules/**'],
  ignoreDeadLinks: true,
  vite: { plugins: [listOfDecisions] },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { anchor: { slugify }, config: (md) => void [linksAsOnGitHub, codeAsWritten].forEach((change) => change(md)), theme: { light: 'github-light', dark: 'github-dark' } },
  themeConfig: {
    // A guide before the names that it explains, unless a name is what was typed.
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: (id) => (id.startsWith('/reference/') ? 0.5 : /^\/(decisions\/|architecture)/.test(id) ? 0.2 : 1) } } } },
    nav: [
      { text: 'Start', link: '/first-tools' },
      { text: 'Guides', link: '/writing-tools' },
      { text: 'API', link: '/reference/' },
    ].filter(({ link }) => isThere(`${link.slice(1)}${link.endsWith('/') ? 'index' : ''}.md`)),
    sidebar: { ...referenceSidebars(), '/decisions/': [...sidebar.slice(-1), { text: 'Decisions', items: decisions() }], '/': sidebar },
    socialLinks: REPOSITORY === undefined ? [] : [{ icon: 'github', link: REPOSITORY }],
    outline: { level: [2, 3] },
    docFooter: { prev: false, next: false },
  },
});
