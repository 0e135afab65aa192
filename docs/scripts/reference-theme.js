import { ReflectionKind } from 'typedoc';
import { MarkdownTheme, MarkdownThemeContext, MemberRouter } from 'typedoc-plugin-markdown';
import { OPTIONS } from './check-reference.js';
import { contentsOf, defaultOf, isExported, moduleOf, pageOf, shortName, summaryOf } from './reference-model.js';

/** Tells values (`'auto'`, `1,000`, `new X()`, `process.env`) from words about them. */
const isCode = (text) => /^(['"\d[{(]|new |true$|false$|undefined$|[a-z]+[.(]|[a-z]+[A-Z]\w*$|[A-Z]\w*\.)/.test(text) && !text.includes('`') && !/^\d[\d,]* \(|, /.test(text);

/** Puts each entry point into a folder of its short name, and each name on a page in it. */
class Router extends MemberRouter {
  getIdealBaseName(reflection) {
    if (reflection.kind === ReflectionKind.Module) return `${shortName(reflection)}/index`;
    return `${shortName(moduleOf(reflection))}/${reflection.name}`;
  }
}

const FRONT = '---\npageClass: reference\n---\n\n';

class Theme extends MarkdownTheme {
  getRenderContext(page) {
    return new Context(this, page, this.application.options);
  }
}

/** Renders less than the plugin does: no keywords that say nothing, no sections that repeat a signature. */
class Context extends MarkdownThemeContext {
  constructor(theme, page, options) {
    super(theme, page, options);
    const { reflection } = this.templates;
    this.templates = { ...this.templates, reflection: (event) => (event.model.isProject() ? this.#project(event.model) : event.model.kind === ReflectionKind.Module ? this.#module(event.model) : this.#member(event.model, reflection(event))) };
    Object.assign(this.partials, {
      declarationTitle: (model) => this.#declarationTitle(model),
      accessor: (model) => [`> ${this.partials.someType(model.getSignature.type)}`, this.#prose(model.getSignature.comment)].join('\n\n'),
      signature: (model, given) => this.#signature(model, given),
    });
  }

  #project(project) {
    return [`${FRONT}# API reference`, 'Every name that can be imported from the package, by entry point.', ...project.children.flatMap((module) => [`## [${module.name}](${shortName(module)}/index.md)`, contentsOf(module)])].join('\n\n');
  }

  #module(module) {
    const exported = module.children.filter(isExported);
    const isType = ({ kind }) => kind === ReflectionKind.Interface || kind === ReflectionKind.TypeAlias || kind === ReflectionKind.Reference;
    const rows = (members) => members.map((member) => `| [${member.name}](${this.urlTo(member.isReference() ? member.getTargetReflectionDeep() : member)}) | ${this.#summary(member.isReference() ? member.getTargetReflectionDeep() : member).replaceAll('|', '\\|').replaceAll('\n', ' ')} |`);
    const table = (title, members) => (members.length === 0 ? [] : [`## ${title}`, ['| Name | Meaning |', '| --- | --- |', ...rows(members)].join('\n')]);
    const byName = (one, other) => one.name.localeCompare(other.name, 'en');
    return [
      `${FRONT}# ${module.name}`,
      contentsOf(module),
      ...table('Functions, classes and constants', exported.filter((member) => !isType(member)).sort(byName)),
      ...table('Types', exported.filter(isType).sort(byName)),
    ].join('\n\n');
  }

  #member(member, rendered) {
    const [, ...rest] = rendered.trimStart().replace('## Constructors\n\n### Constructor\n', '## Constructor\n').split('\n');
    const module = moduleOf(member);
    const isTypeOnly = [ReflectionKind.Interface, ReflectionKind.TypeAlias].includes(member.kind);
    const origin = isExported(member) ? `\`\`\`ts\nimport ${isTypeOnly ? 'type ' : ''}{ ${member.name} } from '${module.name}';\n\`\`\`` : `*Named by signatures of [${module.name}](index.md); not exported.*`;
    const takers = OPTIONS.test(member.name) ? this.#takers(member) : [];
    return [FRONT, `# ${member.name}${member.signatures === undefined ? '' : '()'} {#api-${member.name.toLowerCase()}}`, '', origin, ...rest.filter((line) => line !== '***'), ...(takers.length === 0 ? [] : ['', '## Taken by', '', ...takers])].join('\n');
  }

  /** Returns the functions that take such an object, with what each refuses. */
  #takers(type) {
    const signatures = type.project.getReflectionsByKind(ReflectionKind.CallSignature | ReflectionKind.ConstructorSignature);
    return signatures.filter(({ parent, parameters }) => isExported(pageOf(parent)) && parameters?.some((parameter) => parameter.type?.reflection === type)).map((signature) => {
      const page = pageOf(signature);
      const name = signature.kind === ReflectionKind.ConstructorSignature ? `new ${page.name}` : page === signature.parent ? page.name : `${page.name}.${signature.name}`;
      const refused = signature.comment?.getTags('@throws').map((tag) => ` Throws ${this.helpers.getCommentParts(tag.content).replaceAll('\n', ' ')}`).join('') ?? '';
      return `- [${name}()](${this.urlTo(page)})${refused === '' ? '' : `.${refused}`}`;
    });
  }

  /** Returns the first sentence of a comment. */
  #summary(reflection) {
    const comment = reflection.comment ?? reflection.signatures?.[0]?.comment;
    return comment === undefined ? '' : this.#prose(comment).split(/\n\n/)[0].replace(/(?<=[.!?])\s[\s\S]*$/, '');
  }

  #prose(comment) {
    return comment === undefined ? '' : this.partials.comment(comment, { showTags: false }).trim();
  }

  #declarationTitle(model) {
    const type = this.helpers.getDeclarationType(model);
    const fallback = defaultOf(model);
    const shown = type === undefined ? '`object`' : this.partials.someType(type);
    return `> ${shown}${fallback === undefined ? '' : ` · default ${isCode(fallback) ? `\`${fallback}\`` : fallback}`}`;
  }

  #signature(model, { hideTitle, accessor, multipleSignatures }) {
    const comment = multipleSignatures ? model.comment : (model.comment ?? model.parent?.comment);
    const parts = (tag) => this.helpers.getCommentParts(tag.content);
    const explained = [...(model.typeParameters ?? []), ...(model.parameters ?? [])].filter((parameter) => summaryOf(parameter) !== '');
    const returns = comment?.getTag('@returns');
    return [
      hideTitle ? '' : this.partials.signatureTitle(model, { accessor }),
      this.#prose(comment),
      explained.map((parameter) => `- \`${parameter.name}\`: ${this.#prose(parameter.comment)}`).join('\n'),
      returns === undefined ? '' : `**Returns** ${parts(returns)}`,
      ...(comment?.getTags('@throws') ?? []).map((tag) => `**Throws** ${parts(tag)}`),
      ...(comment?.getTags('@example') ?? []).map(parts),
    ].filter((part) => part !== '').join('\n\n');
  }
}

export function defineTheme(app) {
  app.renderer.defineRouter('tooldex', Router);
  app.renderer.defineTheme('tooldex', Theme);
}
