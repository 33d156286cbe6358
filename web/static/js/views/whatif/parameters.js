// What is varied: strategies, and lists of values.

import { count, counted, percent } from '../../format.js'
import { useId } from 'preact/hooks'
import { html } from '../../html.js'
import { setQuery } from '../../route.js'
import { strategies, strategyWords } from '../../words.js'
import { combinations, mostPlans, parse, typed } from './values.js'

const strategyLines = {
  llfd: 'least load fit decreasing, from what overloaded instances shed', lpt: 'all keys anew, costliest first: a baseline', mintable: 'the smallest table',
  minmig: 'the least migration', mixed: 'little migration within the table limit', mixed_bf: 'as Mixed, every clean-up size tried',
  optimal: 'a search, never worse than the others', readj: 'moves and swaps: a baseline',
}

const names = ['strategies', ...Object.keys(typed), 'objective', 'certificate']

/** What a link that says nothing stands for: something to see. */
function defaults(plan) {
  return { strategies: 'mixed,minmig,mintable,optimal', theta_max: '2%, 5%, 10%', ...(plan?.parameters.objective === 'min_imbalance' && { objective: 'min_migration,min_imbalance' }) }
}

const listed = (text = '', of) => text.split(',').filter((item) => of.includes(item))

/** The parameters that a link says: {texts, grid, problems, total}; texts are as they were typed. */
export function parametersOf(query, plan) {
  const said = names.some((name) => name in query)
  const texts = said ? Object.fromEntries(names.map((name) => [name, query[name]])) : defaults(plan)
  const problems = {}
  const grid = {
    strategies: listed(texts.strategies, strategies), objective: listed(texts.objective, ['min_migration', 'min_imbalance']), certificate: listed(texts.certificate, ['off', 'fast', 'tight']),
  }
  for (const [name, { read }] of Object.entries(typed)) {
    const { values, problem } = parse(texts[name], read)
    grid[name] = values
    if (problem) problems[name] = problem
  }
  const total = combinations(grid)
  const wrong = Object.values(problems)[0] ?? refused(grid, total, plan?.parameters)
  return { texts, grid, problems, total, problem: wrong ?? '' }
}

/** Why the grid as a whole cannot be planned, in a sentence. */
function refused(grid, total, own) {
  const objective = grid.objective.length > 0 ? grid.objective : [own?.objective ?? 'min_migration']
  const imbalance = objective.includes('min_imbalance')
  if (grid.strategies.length === 0) return 'Choose at least one strategy.'
  if (imbalance && !grid.strategies.includes('optimal')) return 'Only the strategy Optimal knows the objective of least imbalance.'
  if (imbalance && objective.length === 1 && grid.strategies.length > 1) return 'Strategies other than Optimal need the objective of least migration, too.'
  if (imbalance && grid.migration_limit.length === 0 && !own?.migration_limit) return 'The objective of least imbalance needs a migration limit.'
  if (!imbalance && grid.migration_limit.length > 0) return 'A migration limit belongs to the objective of least imbalance.'
  if (total.plans > mostPlans) return `These are ${counted(total.plans, 'plan')}; at most ${mostPlans} are made at once.`
  return undefined
}

/** Writes what is typed into the link, beside what was only understood until now. */
const change = (texts, name, value) => setQuery({ ...texts, [name]: value })

function Values({ name, label, hint, placeholder, texts, problems }) {
  const id = useId()
  return html`<div class="field"><label for=${id}>${label}</label>
    <input id=${id} value=${texts[name] ?? ''} placeholder=${placeholder} autocomplete="off" spellcheck=${false} aria-invalid=${problems[name] ? 'true' : undefined} aria-describedby="${id}-hint" onInput=${(e) => change(texts, name, e.currentTarget.value)} />
    <p class="hint ${problems[name] ? 'whatif-wrong' : ''}" id="${id}-hint" aria-live="polite">${problems[name] ?? hint}</p></div>`
}

function Strategies({ texts, grid }) {
  const turn = (name, on) => change(texts, 'strategies', strategies.filter((s) => (s === name ? on : grid.strategies.includes(s))).join() || 'none')
  return html`<fieldset><legend>Strategies</legend><div class="whatif-strategies">${strategies.map((name) => html`<label class="check" key=${name}>
    <input type="checkbox" checked=${grid.strategies.includes(name)} onChange=${(e) => turn(name, e.currentTarget.checked)} /><span><strong>${strategyWords[name]}</strong> <span class="muted">${strategyLines[name]}</span></span></label>`)}</div></fieldset>`
}

function Checks({ label, name, options, texts, grid }) {
  const turn = (value, on) => change(texts, name, options.map(([o]) => o).filter((o) => (o === value ? on : grid[name].includes(o))).join())
  return html`<fieldset><legend>${label}</legend><div class="whatif-checks">${options.map(([value, text]) => html`<label class="check" key=${value}><input type="checkbox" checked=${grid[name].includes(value)} onChange=${(e) => turn(value, e.currentTarget.checked)} />${text}</label>`)}</div></fieldset>`
}

/** The form of the parameters; plan is that of the interval, whose values hold where nothing is said. */
export function Parameters({ parameters, plan }) {
  const { texts, grid, problems } = parameters
  const own = plan?.parameters
  const classes = plan?.migrates === 'classes'
  const with_ = { texts, grid, problems }
  const as = (value, words) => (own ? `as it was: ${value}` : words)
  const more = ['objective', 'migration_limit', 'deadline', 'certificate'].some((name) => texts[name])
  return html`
    <${Strategies} ...${with_} />
    <div class="whatif-fields">
      <${Values} ...${with_} name="theta_max" label=${html`θ<sub>max</sub>`} placeholder=${as(own && percent(own.theta_max), '8 %')} hint="A list, or a range such as 2%..10% step 2%." />
      <${Values} ...${with_} name="table_limit" label="Table limit" placeholder=${as(own && (own.table_limit === null ? 'none' : count(own.table_limit)), 'none')} hint="Entries, or “none”: 100, 1000, none." />
      <${Values} ...${with_} name="beta" label="β" placeholder=${as(own && own.beta, '1.5')} hint="Weighs cost against state: cost^β / state." />
      ${!classes && html`<${Values} ...${with_} name="compact_degree" label="R, compact degree" placeholder=${as(own && own.compact.degree, '0')} hint="Powers of two, 0 for keys: 0, 1..64 step x4." />`}
    </div>
    <details class="whatif-more" open=${more}><summary>More</summary>
      <${Checks} ...${with_} label="Objective" name="objective" options=${[['min_migration', 'least migration'], ['min_imbalance', 'least imbalance (Optimal only)']]} />
      <div class="whatif-fields">
        <${Values} ...${with_} name="migration_limit" label="Migration limit" placeholder="none" hint="For least imbalance: 1%, 5% of all state, 500 keys, or an amount." />
        <${Values} ...${with_} name="deadline" label="Deadline" placeholder=${as(own && (own.deadline ?? 'that of the server'), 'that of the server')} hint="For each plan: 500ms, 1m30s." />
      </div>
      <${Checks} ...${with_} label="Certificate" name="certificate" options=${[['off', 'off'], ['fast', 'fast'], ['tight', 'tight']]} />
    </details>`
}
