import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';
import { checkReference } from './check-reference.js';
import { ENTRIES, isExported, removeInternals, removeUnreached, ROOT, shortName } from './reference-model.js';
import { defineTheme } from './reference-theme.js';

/** Writes a page for every name into docs/reference. @throws an Error with everything that is not documented. */
export async function makeReference() {
  const app = await Application.bootstrapWithPlugins(
    {
      entryPoints: ENTRIES.map(({ file }) => join(ROOT, file)),
      basePath: ROOT,
      tsconfig: join(ROOT, 'tsconfig.json'),
      plugin: ['typedoc-plugin-markdown', 'typedoc-plugin-missing-exports'],
      placeInternalsInOwningModule: true,
      // The types are checked by `npm run typecheck`.
      skipErrorChecking: true,
      excludePrivate: true,
      excludeInternal: true,
      excludeExternals: true,
      disableSources: true,
      disableGit: true,
      readme: 'none',
      logLevel: 'Warn',
      validation: false,
      sort: ['source-order'],
      groupOrder: ['Constructors', 'Properties', 'Accessors', 'Methods', '*'],
      sortEntryPoints: false,
      router: 'tooldex',
      theme: 'tooldex',
      out: join(ROOT, 'docs/reference'),
      cleanOutputDir: true,
      entryFileName: 'index.md',
      hidePageHeader: true,
      hideBreadcrumbs: true,
      parametersFormat: 'none',
      expandParameters: true,
      expandObjects: true,
      sanitizeComments: true,
      useHTMLEncodedBrackets: true,
      pageTitleTemplates: { index: 'Reference', module: '{name}', member: ({ rawName }) => rawName },
      notRenderedTags: ['@default', '@defaultValue', '@inheritDoc'],
    },
  );
  defineTheme(app);
  const project = await app.convert();
  if (project === undefined) throw new Error('Expected TypeDoc to read the entry points. See its messages above.');
  for (const [index, module] of project.children.entries()) module.name = ENTRIES[index].name;
  removeInternals(project);
  removeUnreached(project, app.serializer);
  const problems = await checkReference(project);
  await app.generateOutputs(project);
  writeFileSync(join(ROOT, 'docs/reference/sidebar.json'), JSON.stringify(sidebarOf(project)));
  if (app.logger.hasErrors() || app.logger.hasWarnings()) problems.push('TypeDoc has warnings; see above.');
  if (problems.length > 0) throw new Error(`Expected a reference in which every public name and option is documented, got ${problems.length} gaps:\n${problems.join('\n')}`);
}

/** Returns the names by entry point, for the sidebar of the site. */
const sidebarOf = (project) =>
  project.children.map((module) => ({
    text: module.name,
    link: `/reference/${shortName(module)}/`,
    items: module.children.filter((member) => isExported(member) && !member.isReference()).sort((one, other) => one.name.localeCompare(other.name, 'en')).map((member) => ({ text: member.name, link: `/reference/${shortName(module)}/${member.name}` })),
  }));
