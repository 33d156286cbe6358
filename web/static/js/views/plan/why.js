// Why a plan is as it is: what it proves, what it may not do, and what it was made of.

import { request, useResource } from '../../api.js'
import { amount, count, counted, duration, exactly, percent, some, state } from '../../format.js'
import { html } from '../../html.js'
import { named } from '../../instances.js'
import { fits, judge, Marks } from '../../judge.js'
import { Card } from '../../parts.js'
import { beside, boundOf, brokenWords } from '../../resources.js'
import { link } from '../../route.js'
import { minds, strategyTitle } from '../../strategies.js'
import { explained } from '../../terms.js'
import { cause, certificate, endWords, limitWords, phaseWords, reasons, reasonWords, tableOf } from '../../words.js'
import { fillingWords } from './filling.js'

/** @typedef {[name: string, value: Children]} Fact */

/**
 * The verdict on a plan in sentences.
 *
 * @param {{ plan: AnyPlan }} props
 */
export function Verdict({ plan }) {
  const [first, ...others] = certificate(plan)
  const kept = [
    ...brokenWords(plan),
    fits(plan) || plan.resources
      ? null
      : `Some instance is above its bound: θ is ${percent(plan.theta.after)} after the plan,` +
        ` ${percent(plan.parameters.theta_max)} is allowed.`,
    plan.table_within_limit
      ? null
      : `The table exceeds its limit: ${counted(tableOf(plan).size_after, 'entry', 'entries')},` +
        ` ${count(plan.parameters.table_limit)} are allowed.`,
  ].filter(Boolean)
  return html`<${Card} title="Proof" class=${plan.forecast ? 'half' : ''}>
    <p class="plan-first">${first}</p>
    ${others.map((text) => html`<p key=${text}>${text}</p>`)}
    ${kept.map((text) => html`<p class="toned bad" key=${text}>${text}</p>`)}
    ${
      fits(plan) &&
      plan.table_within_limit &&
      html`<p>All limits hold under its own statistics${plan.balanced === null && ', as far as is to be expected'}.</p>`
    }
    ${
      plan.balanced === null &&
      html`<p>
      The loads of split keys are expectations: each router sends them where it sees the least load, so whether all
      instances keep to their bounds shows in the statistics that follow.
    </p>`
    }
    ${fillingWords(plan).map((text) => html`<p key=${text}>${text}</p>`)}
    ${plan.causes.map((code) => html`<p key=${code}>${cause(code, plan)}</p>`)}
    ${plan.end_reason !== 'completed' && html`<p>${endWords[plan.end_reason] ?? plan.end_reason}</p>`}
  <//>`
}

/**
 * The plan that is in the way of this one, with what it would do under these statistics.
 *
 * @param {{ pending?: API['Pending'], thetaMax: number }} props
 */
export function InTheWay({ pending, thetaMax }) {
  if (!pending) return null
  const { plan, status, figures } = pending
  return html`<${Card}
    title=${status === 'proposed' ? 'A plan was waiting for approval' : 'A plan was being carried out'}
    aside=${html`<a class="button" href=${link(['plans', plan])}>See that plan</a>`}
  >
    <p>
      Nothing was planned for this interval: when its statistics came, another
      plan ${status === 'proposed' ? 'waited for approval' : 'was being carried out'}.
    </p>
    ${
      figures === null
        ? html`<p class="muted">
            What that plan does to these statistics is not known: its moves or these statistics are of classes.
          </p>`
        : html`
            <p>
              Under these statistics that plan leads from θ
              = ${percent(figures.theta.before)} to <strong>${percent(figures.theta.after)}</strong>
              , and moves ${counted(figures.migration.keys, 'key')} with ${state(figures.migration.state)}
              , ${percent(figures.migration.fraction)} of all. <${Marks} of=${judge(figures.theta, thetaMax)} />
            </p>
          `
    }
  <//>`
}

/**
 * How many migrations of each reason a stored plan has: a resource, of null where it has none to count.
 *
 * @param {Plan | null} plan
 * @returns {Watched<Record<string, number>>}
 */
export function useReasons(plan) {
  const known = plan !== null && plan.migration.keys > 0 && plan.migrates !== 'classes'
  const path = known ? `v1/plans/${encodeURIComponent(plan.id)}/migrations` : null
  return useResource(path && `${path}#reasons`, {
    load: async (signal) => {
      const answers = await Promise.all(
        reasons.map((reason) => request('GET', path ?? '', { query: { reason, page_size: 1 }, signal })),
      )
      return { data: Object.fromEntries(reasons.map((reason, i) => [reason, answers[i].data.total_size])) }
    },
  })
}

/**
 * The same of a result that has its migrations within.
 *
 * @param {{ migrates: string, plan?: { migrations: API['Migrations'] } }} result
 * @returns {Record<string, number> | null}
 */
export function reasonsOf({ migrates, plan }) {
  if (migrates === 'classes') return null
  const moves = /** @type {API['Migration'][]} */ (plan?.migrations ?? [])
  return Object.fromEntries([...Map.groupBy(moves, (m) => m.reason)].map(([reason, of]) => [reason, of.length]))
}

/**
 * Why keys move, and what the plan was made of. counts are its migrations by reason, null where they are not known.
 *
 * @param {{ plan: AnyPlan, counts: Record<string, number> | null }} props
 */
export function Why({ plan, counts }) {
  return html`<${Card} title="Why">
    <${Reasons} counts=${counts} what=${plan.migrates} />
    <h3>Statistics</h3>
    <${Facts} items=${statisticsOf(plan)} />
  <//>`
}

/**
 * What the plan was asked for, and how it was made.
 *
 * @param {{ plan: AnyPlan }} props
 */
export function Making({ plan }) {
  return html`<${Card} title="Parameters and run">
    <div class="plan-columns"><${Facts} items=${parametersOf(plan)} /><${Facts} items=${makingOf(plan)} /></div>
  <//>`
}

/** @param {{ counts: Record<string, number> | null, what: string }} props */
function Reasons({ counts, what }) {
  const present = Object.entries(counts ?? {})
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1])
  if (present.length === 0) return null
  const total = present.reduce((sum, [, n]) => sum + n, 0)
  return html`
    <h3>Why ${what} move</h3>
    <ul class="plan-reasons">
      ${present.map(
        ([reason, n]) => html`<li key=${reason}>
          <span class="plan-reason-count">${count(n)}</span>
          <progress aria-hidden="true" max=${total} value=${n}></progress>
          <span>${reasonWords[reason] ?? reason}</span>
        </li>`,
      )}
    </ul>
  `
}

/**
 * Names and values; null ones are left out.
 *
 * @param {{ items: (Fact | false | null | undefined)[] }} props
 */
function Facts({ items }) {
  return html`<dl class="plan-facts">
    ${items.filter(Boolean).map(
      ([name, value]) =>
        html`<div key=${name}>
          <dt>${explained(name)}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

/**
 * @param {AnyPlan} plan
 * @returns {(Fact | false | null | undefined)[]}
 */
function statisticsOf(plan) {
  const { affinity, reports, compaction, idle_entries: idle = 0 } = plan
  const name = (/** @type {number} */ id) => named(plan, id)
  return [
    affinity && ['Keys', `${counted(affinity.keys, 'key')} in ${counted(affinity.routed_keys, 'group')}`],
    [
      'Drifted keys',
      plan.drifted_keys === 0 ? 'none' : `${count(plan.drifted_keys)}, not where the committed table routes them`,
    ],
    idle > 0 && ['Idle table entries', `${count(idle)} of keys that have long been absent; the next plan drops them`],
    reports && [
      'Reported',
      reports.received.length === 0
        ? 'no instance'
        : `${counted(reports.received.length, 'instance')}: ${some(reports.received.map(name))}`,
    ],
    reports &&
      reports.carried.length > 0 && [
        'Used again',
        some(reports.carried.map((c) => `${name(c.instance)} (interval ${count(c.interval)})`)),
      ],
    reports &&
      reports.frozen.length > 0 && [
        'Frozen',
        `${some(reports.frozen.map(name))}: nothing is known of them, so nothing moves from or to them`,
      ],
    compaction && [
      'Compact records',
      `${count(compaction.records)} for ${counted(compaction.keys, 'key')}` +
        (compaction.degree === null ? '' : `, degree ${compaction.degree}`),
    ],
    compaction && ['Scales', `cost ${exactly(compaction.cost_scale)}, state ${exactly(compaction.state_scale)}`],
    compaction && [
      'Load error',
      compaction.error === null
        ? 'not known: records were sent, and only the engine knows the actual loads'
        : `at most ${percent(compaction.error.before)} before, ${percent(compaction.error.after)} after`,
    ],
    ['Underload', `${percent(plan.underload.before)} → ${percent(plan.underload.after)} below fair load at most`],
    ['Skewness', `${amount(plan.skewness.before)} → ${amount(plan.skewness.after)}, greatest over mean load`],
  ]
}

/** @type {Record<string, string>} */
const certificateWords = { off: 'off', fast: 'fast', tight: 'tight: more search, smaller gaps' }
/** @type {Record<string, string>} */
const objectiveWords = { min_migration: 'least migration', min_imbalance: 'least imbalance' }

/**
 * @param {AnyPlan} plan
 * @returns {Fact[]}
 */
function parametersOf(plan) {
  const q = plan.parameters
  /** @type {[name: string, value: Children | false][]} */
  const out = [
    ['Strategy', strategyTitle(plan.strategy)],
    ['θ_max', percent(q.theta_max)],
    ...beside(plan).map(
      (r) =>
        /** @type {[string, string]} */ ([
          r.name,
          r.limit ? 'at most what an instance has' : `θ_max ${percent(boundOf(r))}`,
        ]),
    ),
  ]
  if (q.ring)
    out.push(
      ['τ', q.ring.tau !== undefined && percent(q.ring.tau)],
      ['Rounds per instance', q.ring.max_rounds !== undefined && `at most ${count(q.ring.max_rounds)}`],
    )
  if (q.ranges)
    out.push(
      ['Ranges per instance', q.ranges.max_intervals !== undefined && `at most ${count(q.ranges.max_intervals)}`],
      ['Phase', `${q.ranges.phase}: ${phaseWords[q.ranges.phase ?? '']}`],
    )
  if (q.pkg) out.push(['Candidates of a key', `${count(q.pkg.choices)}, more of the head`])
  if ('table_limit' in q) out.push(...tableParameters(q, plan.strategy))
  out.push(['Deadline', q.deadline ?? 'that of the server'])
  return out.filter(([, value]) => value !== false)
}

/**
 * @param {PlanParameters} q
 * @param {string} strategy
 * @returns {[name: string, value: Children | false][]}
 */
function tableParameters(q, strategy) {
  return [
    ['Table limit', q.table_limit === null ? 'none' : counted(q.table_limit, 'entry', 'entries')],
    ['Objective', minds(strategy, 'objective') && (objectiveWords[q.objective ?? ''] ?? q.objective)],
    ['Migration limit', limitWords(q.migration_limit)],
    ['β', `${exactly(q.beta)}: keys move by cost^β over state`],
    ['Overhead per key', q.key_overhead === 0 ? 'none' : state(q.key_overhead)],
    ['Certificate', certificateWords[q.certificate ?? ''] ?? q.certificate],
    ['Effort', minds(strategy, 'effort') && q.effort !== undefined && q.effort],
    ['Work budget', q.work_budget === 0 ? 'none' : counted(q.work_budget, 'work unit')],
    ['Compaction', q.compact?.degree === 0 ? 'none' : `degree ${q.compact?.degree}`],
    ['Parts of a key', partsOf(q.splitting)],
  ]
}

/** @param {PlanParameters['splitting']} splitting */
function partsOf(splitting) {
  if (splitting === undefined || splitting.max_parts === 1) return 'one: no key is split'
  const cost = splitting.merge_cost ? `, each adds ${exactly(splitting.merge_cost)} to its load` : ''
  const price = splitting.price ? `, each but the first is worth moving ${amount(splitting.price)} of state` : ''
  const routing = splitting.routing === 'least_loaded' ? ', routers choose the least loaded' : ''
  const end = splitting.parts === 'expire' ? ', those taken away run out' : ''
  return `at most ${count(splitting.max_parts)}${cost}${price}${routing}${end}`
}

/**
 * @param {AnyPlan} plan
 * @returns {(Fact | false)[]}
 */
function makingOf(plan) {
  const { decode_ms: decode, plan_ms: planning, persist_ms: persisting } = plan.timing
  return [
    ['Planning ended', endWords[plan.end_reason] ?? plan.end_reason],
    ['Work', counted(plan.work_units, 'work unit')],
    [
      'Time',
      `${duration(planning)} planning, ${duration(decode)} receiving and decoding` +
        (persisting === undefined ? '' : `, ${duration(persisting)} storing`),
    ],
    plan.epoch !== undefined && ['Epoch', count(plan.epoch)],
    plan.config_version !== undefined && ['Configuration', `version ${count(plan.config_version)}`],
    plan.planner_revision !== undefined && ['Planner revision', plan.planner_revision],
    plan.input_hash !== undefined && ['Input hash', html`<code>${plan.input_hash}</code>`],
  ]
}
