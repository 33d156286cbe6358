// What is varied: strategies, and lists of values.

import { counted } from '../../format.js'
import { useId } from 'preact/hooks'
import { html } from '../../html.js'
import { Checks } from '../../parts.js'
import { setQuery } from '../../route.js'
import { knows, mostPlans, strategies, strategyTitle, textOf, valueOf, varied } from '../../strategies.js'
import { combinations, parse, readerOf } from './values.js'

/** @import { Grid } from './ask.js' */

/** @typedef {API['ParameterInfo'] & { grid: string }} Varied */

/**
 * What is said of each parameter, as it was typed.
 *
 * @typedef {Record<string, string | undefined>} Texts
 */

/** @typedef {{ texts: Texts, grid: Grid, problems: Record<string, string> }} Said */

const names = () => ['strategies', ...varied().map((p) => p.grid)]

/**
 * What a link that says nothing stands for: something to see.
 *
 * @param {Plan | null} plan
 * @returns {Texts}
 */
function defaults(plan) {
  return {
    strategies: 'mixed,minmig,mintable,optimal',
    theta_max: '2%, 5%, 10%',
    ...(plan?.parameters.objective === 'min_imbalance' && { objective: 'min_migration,min_imbalance' }),
  }
}

/**
 * The parameters that a link says: {texts, grid, problems, total}; texts are as they were typed.
 *
 * @param {Query} query
 * @param {Plan | null} plan
 */
export function parametersOf(query, plan) {
  const said = names().some((name) => name in query)
  const texts = said ? Object.fromEntries(names().map((name) => [name, query[name]])) : defaults(plan)
  const chosen = (texts.strategies ?? '').split(',')
  /** @type {Record<string, string>} */
  const problems = {}
  /** @type {Grid} */
  const grid = {
    strategies: strategies()
      .map((s) => s.name)
      .filter((name) => chosen.includes(name)),
    values: {},
  }
  for (const p of varied()) {
    const { values, problem } = parse(texts[p.grid], readerOf(p))
    grid.values[p.grid] = values
    if (problem) problems[p.grid] = problem
  }
  const total = combinations(grid)
  const wrong = Object.values(problems)[0] ?? refused(grid, total, plan?.parameters)
  return { texts, grid, problems, total, problem: wrong ?? '' }
}

/**
 * Why the grid as a whole cannot be planned, in a sentence.
 *
 * @param {Grid} grid
 * @param {{ plans: number }} total
 * @param {PlanParameters | undefined} own
 */
function refused(grid, total, own) {
  const { objective: goals = [], migration_limit: limits = [] } = grid.values
  const objective = goals.length > 0 ? goals : [own?.objective ?? 'min_migration']
  const imbalance = objective.includes('min_imbalance')
  /** @param {string} strategy */
  const able = (strategy) => knows(strategy, 'min_imbalance')
  if (grid.strategies.length === 0) return 'Choose at least one strategy.'
  if (imbalance && !grid.strategies.some(able)) return `Only ${ableWords()} knows the objective of least imbalance.`
  if (imbalance && objective.length === 1 && !grid.strategies.every(able))
    return `Strategies other than ${ableWords()} need the objective of least migration, too.`
  if (imbalance && limits.length === 0 && !own?.migration_limit)
    return 'The objective of least imbalance needs a migration limit.'
  if (!imbalance && limits.length > 0) return 'A migration limit belongs to the objective of least imbalance.'
  if (total.plans > mostPlans())
    return `These are ${counted(total.plans, 'plan')}; at most ${mostPlans()} are made at once.`
  return undefined
}

/** The strategies that know the objective of least imbalance. */
const ableWords = () =>
  strategies()
    .filter((s) => knows(s.name, 'min_imbalance'))
    .map((s) => s.title)
    .join(' or ')

/**
 * Writes what is typed into the link, beside what was only understood until now.
 *
 * @param {Texts} texts
 * @param {string} name
 * @param {string} value
 */
const change = (texts, name, value) => setQuery({ ...texts, [name]: value })

/**
 * A label with its index below the line: θ_max.
 *
 * @param {string} label
 */
function labelOf(label) {
  const [letter, index] = label.split('_')
  return index ? html`${letter}<sub>${index}</sub>` : label
}

/** @param {Said & { of: Varied, placeholder: string }} props */
function Values({ of: p, placeholder, texts, problems }) {
  const id = useId()
  const problem = problems[p.grid]
  return html`<div class="field">
    <label for=${id}>${labelOf(p.label)}</label>
    <input
      id=${id}
      value=${texts[p.grid] ?? ''}
      placeholder=${placeholder}
      autocomplete="off"
      spellcheck=${false}
      aria-invalid=${problem ? 'true' : undefined}
      aria-describedby="${id}-hint"
      onInput=${(e) => change(texts, p.grid, e.currentTarget.value)}
    />
    <p class="hint ${problem ? 'toned bad' : ''}" id="${id}-hint" aria-live="polite">${problem ?? p.help}</p>
  </div>`
}

/** @param {Said} props */
function Strategies({ texts, grid }) {
  return html`<fieldset>
    <legend>Strategies</legend>
    <div class="whatif-strategies">
      <${Checks}
        of=${strategies().map(({ name, summary }) => [
          name,
          html`<span><strong>${strategyTitle(name)}</strong> <span class="muted">${summary}</span></span>`,
        ])}
        chosen=${grid.strategies}
        onChange=${(all) => change(texts, 'strategies', all.join() || 'none')}
      />
    </div>
  </fieldset>`
}

/** @param {Said & { of: Varied }} props */
const Choices = ({ of: p, texts, grid }) =>
  html`<fieldset>
    <legend>${p.label}</legend>
    <div class="row checks">
      <${Checks}
        of=${p.choices.map(({ value, label, help }) => [value, label, help])}
        chosen=${grid.values[p.grid]}
        onChange=${(all) => change(texts, p.grid, all.join())}
      />
    </div>
  </fieldset>`

/**
 * The form of the parameters; plan is that of the interval, whose values hold where nothing is said.
 *
 * @param {{ parameters: ReturnType<typeof parametersOf>, plan: Plan | null }} props
 */
export function Parameters({ parameters: { texts, grid, problems }, plan }) {
  const own = plan?.parameters
  // Records are compact already.
  const all = varied().filter((p) => plan?.migrates !== 'classes' || !p.name.startsWith('compact/'))
  const more = all.filter((p) => !p.first)
  /** @param {Varied} p */
  const usual = (p) => (own ? `as it was${textOf(p, valueOf(own, p)).replace(/^(?=.)/, ': ')}` : textOf(p, p.default))
  /** @param {Varied[]} list */
  const fields = (list) =>
    html`<div class="fields">
      ${list
        .filter((p) => p.type !== 'choice')
        .map(
          (p) =>
            html`<${Values}
              key=${p.grid}
              of=${p}
              placeholder=${usual(p)}
              ...${{ texts, grid, problems }}
            />`,
        )}
    </div>`
  return html`
    <${Strategies} texts=${texts} grid=${grid} problems=${problems} />
    ${fields(all.filter((p) => p.first))}
    <p class="hint">Each takes several values: a list, or a range such as 2%..10% step 2% or 1..64 step x4.</p>
    <details class="whatif-more" open=${more.some((p) => texts[p.grid])}>
      <summary>More</summary>
      ${more
        .filter((p) => p.type === 'choice')
        .map((p) => html`<${Choices} key=${p.grid} of=${p} texts=${texts} grid=${grid} problems=${problems} />`)}
      ${fields(more)}
    </details>
  `
}
