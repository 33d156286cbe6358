// The head that the pages of an operator share.

import { useResource } from '../../api.js'
import { count, counted } from '../../format.js'
import { Freeze } from '../../freeze.js'
import { html } from '../../html.js'
import { Named } from '../../instances.js'
import { Empty, loaded, tabs, Time, useTitle } from '../../parts.js'
import { link } from '../../route.js'
import { strategyTitle } from '../../strategies.js'
import { ofQueues, phaseWords } from '../../words.js'
import { Outcome } from '../plan/headline.js'
import { Approved, approvalsSoFar, useSteps } from '../plan/lifecycle.js'
import { SinceVisit } from './changes.js'
import { intervalWords } from './plans.js'

/** @type {Record<string, string>} */
export const schemeWords = {
  table: 'Routing table',
  ring: 'Token ring',
  ranges: 'Key ranges',
  pkg: 'Partial key grouping',
}

/**
 * How an operator plans: its strategy, or its scheme's method.
 *
 * @param {API['Operator']} o
 */
export const methodWords = (o) => strategyTitle(o.strategy ?? o.ring?.method ?? o.ranges?.method ?? o.pkg?.method ?? '')

/**
 * A page of an operator. plans are those that the page knows, if any; render makes of
 * the operator what is below the head.
 * @param {object} props
 * @param {string} props.name
 * @param {string} props.tab
 * @param {PlanSummary[]} [props.plans]
 * @param {(operator: API['Operator'], etag: string | null, reload: () => void) => Children} props.render
 */
export function Page({ name, tab, plans = [], render }) {
  useTitle(`${name} · plannerd`)
  /** @type {Watched<API['Operator']>} */
  const operator = useResource(`v1/operators/${encodeURIComponent(name)}`, { every: 5_000 })
  const gone = operator.problem?.status === 404
  return html`
    <nav class="crumbs" aria-label="Breadcrumb"><a href="#/">Operators</a></nav>
    <div class="row title operator-title">
      <h1>${name}</h1>
      ${
        operator.data &&
        html`<span class="muted">${schemeWords[operator.data.scheme]} · ${methodWords(operator.data)}</span>`
      }
    </div>
    ${
      gone
        ? html`<${Gone} name=${name} was=${operator.data !== null} />`
        : loaded(
            operator,
            (o) => html`
                <${SinceVisit} name=${name} />
                <${Freeze} operator=${o} reload=${operator.reload} />
                <${Now} operator=${o} plan=${plans.find((p) => p.id === o.current_plan)} />
                <${Facts} operator=${o} />
                ${tabs('Operator', [
                  ['Plans', link(['operators', name]), tab === 'plans'],
                  ['Where does a key go?', link(['operators', name, 'key']), tab === 'key'],
                  o.scheme === 'table' && [
                    'Backtest policies',
                    link(['operators', name, 'backtest']),
                    tab === 'backtest',
                  ],
                  ['Configuration', link(['operators', name, 'configuration']), tab === 'configuration'],
                ])}
                <${Named.Provider} value=${o}>${render(o, operator.etag, operator.reload)}<//>
              `,
            8,
          )
    }
  `
}

/** @param {{ name: string, was: boolean }} props */
function Gone({ name, was }) {
  return html`<div role="alert">
    <${Empty} title=${was ? `The operator ${name} was deleted while you looked at it` : `There is no operator ${name}`}>
      <p>${was ? 'Its plans are gone with it.' : 'It was deleted, or never created.'}</p>
      <p><a href="#/">All operators</a></p>
    <//>
  </div>`
}

/** @type {Record<string, { words: string, verb: string, tone: string }>} */
const underWay = {
  proposed: { words: 'waits for approval', verb: 'Review', tone: 'waits' },
  approved: { words: 'is approved and waits to be started', verb: 'See plan', tone: 'moves' },
  applying: { words: 'is being applied', verb: 'Watch', tone: 'moves' },
  aborting: { words: 'is being aborted', verb: 'Watch', tone: 'moves' },
}

const again = { words: 'has to be approved again', verb: 'Review', tone: 'waits' }

/**
 * What is under way, and where to go for it. plan is the current one, if it is known.
 *
 * @param {{ operator: API['Operator'], plan?: PlanSummary }} props
 */
function Now({ operator: o, plan: known }) {
  /** @type {Watched<Plan>} */
  const asked = useResource(known || !o.current_plan ? null : `v1/plans/${encodeURIComponent(o.current_plan)}`)
  const plan = known ?? asked.data ?? undefined
  const steps = useSteps(plan?.status === 'approved' ? plan : null)
  const now = plan?.limits_changed ? again : underWay[o.current_plan_status ?? '']
  if (!now) return html`<p class="row operator-now" role="status">No plan is under way.</p>`
  return html`<div class="row operator-now ${now.tone}">
    <p role="status">
      ${plan ? `The plan of ${intervalWords(plan)}` : 'A plan'} ${now.words}
      ${plan?.executor && html` by <strong>${plan.executor}</strong>`}${
        plan?.status === 'proposed' && plan.approvals && approvalsSoFar(plan.approvals)
      }.
    </p>
    ${plan?.status === 'approved' && html`<p><${Approved} steps=${steps} /></p>`}
    ${o.starts_at && !o.freeze && html`<p>Plans are started from <${Time} at=${o.starts_at} /> on.</p>`}
    ${
      plan?.expires_at &&
      ['proposed', 'approved'].includes(plan.status) &&
      html`<p class="muted">It expires <${Time} at=${plan.expires_at} />.</p>`
    }
    ${plan && html`<${Does} plan=${plan} approval=${o.approval} />`}
    <a
      class="button ${now.tone === 'waits' ? 'primary' : ''}"
      href=${link(['plans', o.current_plan ?? ''])}
    >
      ${now.verb}
      <span class="visually-hidden"> the current plan</span>
    </a>
  </div>`
}

/**
 * What a plan would do, and what newer statistics say of it.
 *
 * @param {{ plan: PlanSummary, approval: API['Approval'] }} props
 */
function Does({ plan, approval }) {
  if (ofQueues(plan))
    return html`<p class="operator-does">
      Made of queue lengths alone: what moves, and what comes of it, is not known.
    </p>`
  return html`<p class="operator-does"><${Outcome} plan=${plan} approval=${approval} /></p>`
}

/** @type {Record<string, string>} */
const approvalWords = {
  within_limits: 'plans within their limits need no approval',
  always: 'plans need no approval',
  never: 'plans need approval',
}

/** @param {{ operator: API['Operator'] }} props */
function Facts({ operator: o }) {
  const facts = [
    counted(o.instances.length, 'instance'),
    `table version ${count(o.table_version)}`,
    `configuration version ${count(o.config_version)}`,
    o.last_interval === null
      ? 'no interval yet'
      : `newest interval ${count(o.last_interval)}, epoch ${count(o.last_epoch)}`,
    o.ranges && `phase ${o.ranges.phase}: ${phaseWords[o.ranges.phase ?? '']}`,
    approvalWords[o.approval.auto],
  ].filter(Boolean)
  return html`<ul class="row operator-facts" aria-label="The operator in short">
    ${facts.map((fact) => html`<li key=${fact}>${fact}</li>`)}
  </ul>`
}
