// What policies would have come to over the stored intervals of an operator, and which one to use.

import { useResource } from '../api.js'
import { count, counted, percent } from '../format.js'
import { html, useMemo, useState } from '../html.js'
import { Card, Code, Trouble } from '../parts.js'
import { link, setQuery } from '../route.js'
import { Progress, tookWords, useAnalysis } from './analyses/run.js'
import { Plot } from './backtest/plot.js'
import { entriesOf, policyWords, Table } from './backtest/table.js'
import { Page } from './operator/page.js'

/** @import { Run } from './analyses/run.js' */

/** @typedef {API['BacktestReport']} Report */

/** @param {{ operator: string, query: Query }} props */
export default function View({ operator: name, query }) {
  return html`<${Page}
    name=${name}
    tab="backtest"
    render=${(operator) => html`<${Backtest} operator=${operator} query=${query} />`}
  />`
}

/**
 * The address is the question: one without a tolerance asks nothing.
 *
 * @param {{ operator: API['Operator'], query: Query }} props
 */
function Backtest({
  operator: { name, theta_max, last_interval: intervals },
  query: { theta_max: asked, rank, ranked },
}) {
  const [theta, setTheta] = useState(asked ?? String(theta_max))
  const question = useMemo(
    () =>
      asked === undefined
        ? null
        : { path: `v1/operators/${encodeURIComponent(name)}/backtest`, body: { theta_max: Number(asked) } },
    [name, asked],
  )
  const run = useAnalysis(question)
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault()
    if (theta === asked) run.again()
    else setQuery({ theta_max: theta })
  }
  return html`
    ${intervals !== null && html`<${Advice} operator=${name} />`}
    <${Card} title="Backtest policies">
      <p>
        A policy says how costs are forecast, to which θ plans are made, and when. Here policies run over the stored
        intervals as the service would have, and each plan is judged by the interval that came after it. Nothing is
        stored or changed.
      </p>
      <form class="row backtest-form" onSubmit=${submit}>
        <label for="backtest-theta">Tolerance θ_max</label>
        <input
          id="backtest-theta"
          type="number"
          inputmode="decimal"
          min="0"
          step="any"
          required
          value=${theta}
          aria-describedby="backtest-hint"
          onInput=${(e) => setTheta(e.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled=${run.busy}>Backtest</button>
      </form>
      <p class="hint" id="backtest-hint">0.08 is 8 %. The operator has ${theta_max}.</p>
    <//>
    <${Progress} run=${run} />
    ${run.problem && html`<${Trouble} problem=${run.problem} retry=${run.again} />`}
    ${
      run.result &&
      html`<${Answer} run=${run} report=${run.result.data} operator=${name} by=${rank} direction=${ranked} />`
    }
  `
}

/** @param {{ run: Run, report: Report, operator: string, by?: string, direction?: string }} props */
function Answer({ run, report, operator, by, direction }) {
  const entries = useMemo(() => entriesOf(report), [report])
  const { intervals } = report.baseline.judged
  return html`<div class="analyses-answer ${run.busy ? 'analyses-old' : ''}" aria-busy=${run.busy}>
    <${Recommendation} report=${report} operator=${operator} />
    ${
      intervals > 0 &&
      html`
        <${Card}
          title="Realised θ and moved state"
          aside=${`the newest ${count(intervals)} of ${counted(report.intervals, 'interval')}`}
        >
          <${Plot} report=${report} entries=${entries} />
        <//>
        <${Card} title="Policies" aside=${counted(report.results.length, 'policy', 'policies')}>
          <${Table} report=${report} entries=${entries} by=${by} direction=${direction} />
        <//>
      `
    }
    <p class="muted">${tookWords(run)}</p>
  </div>`
}

/** @param {{ report: Report, operator: string }} props */
function Recommendation({ report, operator }) {
  const chosen = report.recommended === null ? null : report.results[report.recommended]
  const next = report.auto && report.results[report.auto.next]
  const using = next && link(['operators', operator, 'configuration'], { policy: JSON.stringify(next.policy) })
  const by = chosen && `chosen by ${counted(chosen.tuning.intervals, 'interval')}`
  return html`<${Card} title="Recommendation" class="analyses-recommended" aside=${by}>
    <p class="analyses-verdict">${chosen ? policyWords(chosen.policy, report.theta_max) : 'None yet'}</p>
    <p>${report.reason.replace(/^./, (first) => first.toUpperCase())}.</p>
    ${chosen && html`<p>${hindsightWords(chosen)}</p>`}
    <p>${floorWords(report.noise_floor)}</p>
    ${
      next &&
      html`${
        next !== chosen &&
        html`<p>By all intervals, these too, auto goes on with ${policyWords(next.policy, report.theta_max)}.</p>`
      }
        <p><a class="button" href=${using}>Use this policy</a></p>
        <details class="backtest-json">
          <summary>The policy as JSON</summary>
          <${Code} label="Recommended policy as JSON" text=${JSON.stringify(next.policy, null, 2)} />
        </details>`
    }
  <//>`
}

/**
 * What can be said of the next interval, once there is anything to say it by.
 *
 * @param {{ operator: string }} props
 */
function Advice({ operator }) {
  const { data } = useResource(`v1/operators/${encodeURIComponent(operator)}/advice`)
  if (!data) return null
  const { advice, expected } = /** @type {API['Advice']} */ (data)
  return html`<${Card} title="What can be kept" class="backtest-advice">
    <p>${advice}</p>
    ${
      expected &&
      html`<p class="muted">
        If nothing moves, the next interval is expected to have a θ of
        ${percent((expected.resources?.[0] ?? expected).median)} in the median, and breaks
        ${expected.resources ? 'a bound' : 'θ_max'} with a probability of ${percent(expected.probability)}.
      </p>`
    }
  <//>`
}

/** @param {API['BacktestResult']} chosen */
function hindsightWords({ hindsight, judged }) {
  if (!hindsight) return 'It is not known how much somebody who knew the judged intervals in advance would have moved.'
  const times = typeof hindsight.ratio === 'number' ? `, ${hindsight.ratio.toFixed(1)} times as much` : ''
  return (
    `Somebody who knew the judged intervals in advance would have moved ${percent(hindsight.bound)} of all state at` +
    ` least to keep θ as this policy did, which moved ${percent(judged.moved)}${times}.`
  )
}

/**
 * The floor is that of the forecast that is recommended: another one may know better what is noise.
 *
 * @param {Report['noise_floor']} floor
 */
const floorWords = (floor) =>
  floor
    ? `By what this forecast takes for noise, a θ_max below ${percent(floor.median)} cannot be held by moving keys,` +
      ' only by longer intervals or fewer instances: even if the expected loads were exactly even, θ would be above' +
      ` that in half of the intervals, and above ${percent(floor.p95)} in one of 20.`
    : 'Too little is known yet to compute the noise floor.'
