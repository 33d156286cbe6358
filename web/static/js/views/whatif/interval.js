// A stored interval of an operator, chosen by its plan.

import { useList, useResource } from '../../api.js'
import { count, counted, percent } from '../../format.js'
import { html, useState } from '../../html.js'
import { Empty, Field, loaded, Loading, selectField, Status, Time, Trouble } from '../../parts.js'
import { link, setQuery } from '../../route.js'
import { strategyTitle } from '../../strategies.js'
import { statusWords } from '../../words.js'

/** @import { Source } from './ask.js' */

const mostPlans = 1_000

/** @typedef {ReturnType<typeof useInterval>} Chosen */

/**
 * The plan that a link or the visitor chose, as a resource; query.operator is what is being chosen of.
 *
 * @param {Query} query
 */
export function useInterval(query) {
  /** @type {Watched<Plan>} */
  const plan = useResource(query.plan ? `v1/plans/${encodeURIComponent(query.plan)}` : null)
  /** @type {Watched<Items<API['Operator']>>} */
  const operators = useList('v1/operators', 'operators')
  const operator = query.operator ?? plan.data?.operator ?? null
  /** @type {Watched<Items<PlanSummary>>} */
  const plans = useList(operator && `v1/operators/${encodeURIComponent(operator)}/plans`, 'plans', { limit: mostPlans })
  return { plan, operators, operator, plans, rules: query.rules ?? '', resources: query.resources ?? '' }
}

/**
 * Other rules or resources than the operator's, as they were typed: a list in JSON, or an object that has it. Nothing
 * typed is none of them.
 *
 * @param {'rules' | 'resources'} what
 * @param {string} text
 * @returns {{ list?: unknown[], problem?: string }}
 */
function listOf(what, text) {
  if (text.trim() === '') return {}
  const problem = `The ${what} have to be a list in JSON.`
  try {
    const said = JSON.parse(text)
    const list = said?.[what] ?? said
    return Array.isArray(list) ? { list } : { problem }
  } catch {
    return { problem }
  }
}

/**
 * An interval in a line.
 *
 * @param {PlanSummary} p
 * @param {boolean} many
 */
const told = (p, many) =>
  `${many ? `epoch ${count(p.epoch)}, ` : ''}interval ${count(p.interval)}` +
  ` · θ ${percent(p.theta.before)} · ${statusWords[p.status] ?? p.status}`

/**
 * Chooses an operator, and one of its intervals.
 *
 * @param {{ interval: Chosen }} props
 */
export function Interval({ interval }) {
  const { operators } = interval
  return loaded(
    operators,
    ({ items }) =>
      items.length === 0 && !interval.plan.data
        ? html`<${Empty} title="This server has no operators yet">
            <p>
              Ask about <a href=${link(['what-if'], { source: 'csv' })}>a CSV of your own</a>, or
              see <a href="#/">how to begin</a>.
            </p>
          <//>`
        : html`<${Choice} ...${interval} items=${items} />`,
    2,
  )
}

/** @param {Chosen & { items: API['Operator'][] }} props */
function Choice({ items, operator, plans, plan, rules, resources }) {
  const sorted = [...items].sort((a, b) => (a.name < b.name ? -1 : 1))
  const chosen = items.find((o) => o.name === operator)
  return html`
    ${selectField(
      'Operator',
      operator ?? '',
      [
        ['', 'Choose an operator'],
        operator && !chosen && [operator, operator],
        ...sorted.map((o) => [o.name, o.scheme === 'table' ? o.name : `${o.name} (${o.scheme})`]),
      ].filter(Boolean),
      (name) => setQuery({ operator: name, plan: null, rules: null, resources: null, open: null, run: null }),
    )}
    ${
      operator &&
      (chosen && chosen.scheme !== 'table'
        ? html`<${NoTable} operator=${chosen} />`
        : html`
            ${
              chosen &&
              !chosen.store_inputs &&
              html`<p class="stale">
                The inputs of ${operator} are not stored any more (<code>store_inputs</code> is off): only intervals
                from before that can be planned again.
              </p>`
            }
            <${Intervals} plans=${plans} plan=${plan} kept=${chosen?.retention.inputs || Infinity} />
            <${OwnPlan} plan=${plan} />
            ${
              plan.data?.migrates === 'keys' &&
              html`
                <${Other} what="rules" text=${rules} own=${chosen?.placement?.rules} key=${operator} />
                <${Other} what="resources" text=${resources} own=${chosen?.resources} key=${`${operator} resources`} />
              `
            }
          `)
    }
  `
}

/** @type {Record<string, string>} */
const changed = { ring: 'tokens', ranges: 'ranges', pkg: 'numbers of candidates' }

/** @param {{ operator: { name: string, scheme: string } }} props */
function NoTable({ operator: o }) {
  return html`<div class="whatif-note">
    <p>
      <strong>${o.name} has no routing table.</strong> Under the scheme <code>${o.scheme}</code> plans
      change ${changed[o.scheme]}, and only plans of routing tables can be planned again.
    </p>
    <p>
      <a href=${link(['analyses', o.scheme])}>Analyses</a> compare the methods of such operators on statistics of your
      own.
    </p>
  </div>`
}

/**
 * Those whose statistics are kept: those of so many of the newest plans.
 *
 * @param {Pick<Chosen, 'plans' | 'plan'> & { kept: number }} props
 */
function Intervals({ plans, plan, kept }) {
  if (plans.data === null)
    return plans.problem
      ? html`<${Trouble} problem=${plans.problem} retry=${plans.reload} />`
      : html`<${Loading} rows=${1} />`
  const items = plans.data.items.slice(0, kept)
  const more = plans.data.more && items.length === mostPlans
  if (items.length === 0)
    return html`<${Empty} title="It has no interval yet">
      <p>Its intervals can be planned again once it was sent statistics.</p>
    <//>`
  const many = new Set(items.map((p) => p.epoch)).size > 1
  const id = plan.data?.id ?? ''
  return selectField(
    'Interval',
    id,
    [
      ['', 'Choose an interval'],
      plan.data && !items.some((p) => p.id === id) && [id, told(plan.data, true)],
      ...items.map((p) => [p.id, told(p, many)]),
    ].filter(Boolean),
    (to) => setQuery({ plan: to, open: null, run: null }),
    {
      hint: more
        ? `The newest ${count(mostPlans)} are listed; older ones are reached from their plans.`
        : plans.data.items.length > items.length &&
          `The statistics of the newest ${count(kept)} are kept; older ones cannot be planned again.`,
    },
  )
}

/**
 * What was planned for the interval, beside which everything else is set.
 *
 * @param {Pick<Chosen, 'plan'>} props
 */
function OwnPlan({ plan }) {
  if (plan.problem && plan.data === null) return html`<${Trouble} problem=${plan.problem} retry=${plan.reload} />`
  if (plan.loading) return html`<${Loading} rows=${1} />`
  const p = plan.data
  if (p === null) return null
  if (!p.routing_table)
    return html`<${NoTable} operator=${{ name: p.operator, scheme: p.ring ? 'ring' : p.pkg ? 'pkg' : 'ranges' }} />`
  return html`<div class="whatif-note">
    <p>
      <a href=${link(['plans', p.id])}>Its plan</a> <${Status} status=${p.status} /> <span class="muted">
        <${Time} at=${p.created_at} />
      </span>
    </p>
    <p>
      ${strategyTitle(p.strategy)}, θ<sub>max</sub> ${percent(p.parameters.theta_max)}
      , ${
        p.parameters.table_limit === null
          ? 'no table limit'
          : `at most ${counted(p.parameters.table_limit, 'table entry', 'table entries')}`
      }
      : θ ${percent(p.theta.before)} → ${percent(p.theta.after)} on ${counted(p.instances.length, 'instance')}
      , ${counted(
        p.migration.keys,
        p.migrates === 'classes' ? 'key of classes' : 'key',
        p.migrates === 'classes' ? 'keys of classes' : 'keys',
      )} moved, ${counted(p.routing_table.size_after, 'table entry', 'table entries')}
      .
    </p>
    <p class="hint">
      Planned again on the same statistics and the same routing table. What you leave empty is as it was.
    </p>
  </div>`
}

/** Lists of the configuration that others can be planned under in place of: what is said of each. */
const lists = {
  rules: {
    title: 'Other rules on where keys may be',
    label: 'Rules',
    hint:
      'A list in JSON, as in the configuration; [] for none. Left empty, they are the operator’s. Labels are those ' +
      'that its instances have; a rule can name instances, too.',
    example: '[{"name": "acme", "keys": {"prefix": "acme/"}, "on": {"instances": [0, 1]}, "exclusive": true}]',
  },
  resources: {
    title: 'Other resources',
    label: 'Resources',
    hint:
      'A list in JSON, as in the configuration; [] for cost alone. Left empty, they are the operator’s. Capacities ' +
      'are those that its instances have.',
    example: '[{"name": "cpu", "theta_max": 0.05}, {"name": "keys", "from": "count", "theta_max": "100%"}]',
  },
}

/**
 * Another list than that of the configuration.
 *
 * @param {{ what: keyof typeof lists, text: string, own?: unknown[] }} props
 */
function Other({ what, text, own = [] }) {
  const [open] = useState(text !== '')
  const { title, label, hint, example } = lists[what]
  const set = (/** @type {string} */ list) => setQuery({ [what]: list || null })
  return html`<details class="whatif-more" open=${open}>
    <summary>${title}</summary>
    <${Field} label=${label} hint=${hint}>
      ${(id) =>
        html`<textarea
          id=${id}
          rows="5"
          spellcheck=${false}
          placeholder=${example}
          value=${text}
          onInput=${(e) => set(e.currentTarget.value)}
        ></textarea>`}
    <//>
    ${
      own.length > 0 &&
      html`<button type="button" onClick=${() => set(JSON.stringify(own, null, 1))}>
        Begin with the operator’s own
      </button>`
    }
  </details>`
}

/**
 * What a what-if on this interval is asked for, or why it cannot be: {source, problem}.
 *
 * @param {Chosen} chosen
 * @returns {{ source: Source | null, problem: string }}
 */
export function sourceOf({ plan, operators, operator, rules, resources }) {
  const [ruled, resourced] = [listOf('rules', rules), listOf('resources', resources)]
  const scheme = operators.data?.items.find((o) => o.name === operator)?.scheme
  const problem =
    (scheme && scheme !== 'table') || (plan.data && !plan.data.routing_table)
      ? 'Only plans of routing tables can be planned again.'
      : plan.data === null
        ? plan.loading
          ? 'The plan is being loaded.'
          : 'Choose an operator and an interval.'
        : (ruled.problem ?? resourced.problem ?? '')
  return problem || plan.data === null
    ? { source: null, problem }
    : { source: { kind: 'interval', plan: plan.data, rules: ruled.list, resources: resourced.list }, problem }
}
