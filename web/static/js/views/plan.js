// A plan, for somebody who has a minute to decide on it.

import { useList, useResource } from '../api.js'
import { count, useStateUnit } from '../format.js'
import { KeptBack } from '../freeze.js'
import { html, useEffect, useRef } from '../html.js'
import { Named } from '../instances.js'
import { announce, loaded, Status, Time, useTitle } from '../parts.js'
import { link } from '../route.js'
import { AsJSON } from '../save.js'
import { strategyTitle } from '../strategies.js'
import { movesOn } from '../words.js'
import { Comment } from './plan/comment.js'
import { Compare } from './plan/compare.js'
import { Decision } from './plan/decision.js'
import { PlanFigures } from './plan/figures.js'
import { became, History, Progress, Standing, useSteps } from './plan/lifecycle.js'
import { Migrations } from './plan/migrations.js'
import { Scheme } from './plan/schemes.js'
import { Undo } from './plan/undo.js'
import { useReasons } from './plan/why.js'

/** @import { Steps } from './plan/lifecycle.js' */

const mostFlows = 4_000
/** @param {Plan} plan */
const every = (plan) => (movesOn(plan.status) ? 2_000 : 0)

/** @param {{ plan: string }} props */
export default function View({ plan: id }) {
  useStateUnit()
  const path = `v1/plans/${encodeURIComponent(id)}`
  const found = useResource(path, { every })
  const plan = found.data
  // What moves is decided when a plan is made, so this is asked for once.
  const flows = useList(plan && `${path}/flows`, 'flows', { limit: mostFlows })
  const reasons = useReasons(plan)
  const steps = useSteps(plan)
  useChangesSaid(plan)
  useTitle(plan ? `Plan of interval ${count(plan.interval)} · ${plan.operator} · plannerd` : 'Plan · plannerd')

  return html`
    ${!plan && html`<nav class="crumbs" aria-label="Breadcrumb"><a href="#/">Operators</a></nav><h1>Plan</h1>`}
    ${loaded(
      found,
      (shown) => html`
        <${Named.Provider} value=${shown}><div class="plan">
          <${Head} plan=${shown} found=${found} steps=${steps} />
          ${movesOn(shown.status) && html`<${Progress} plan=${shown} steps=${steps} />`}
          <${PlanFigures} plan=${shown} flows=${flows} counts=${reasons.data}>
            <${Scheme} plan=${shown} />
            <div id="plan-migrations" tabindex="-1"><${Migrations} plan=${shown} /></div>
            ${!movesOn(shown.status) && html`<${Progress} plan=${shown} steps=${steps} />`}
            <${History} steps=${steps} />
          <//>
        </div><//>
      `,
      8,
    )}
  `
}

/**
 * Says what a plan became while one looks at it.
 *
 * @param {Plan | null} plan
 */
function useChangesSaid(plan) {
  const known = useRef(/** @type {string | null} */ (null))
  useEffect(() => {
    if (!plan) return
    if (known.current !== null && known.current !== plan.status) announce(became(plan))
    known.current = plan.status
  }, [plan])
}

/** @param {{ plan: Plan, found: Watched<Plan>, steps: Steps }} props */
function Head({ plan, found, steps }) {
  return html`
    <nav class="crumbs" aria-label="Breadcrumb">
      <a href="#/">Operators</a> / <a href=${link(['operators', plan.operator])}>${plan.operator}</a>
    </nav>
    <div class="row plan-head">
      <h1 id="plan-title" tabindex="-1">Plan of interval ${count(plan.interval)}</h1>
      <${Status} status=${plan.status} />
      <div class="row plan-links">
        <a class="button" href=${link(['what-if'], { plan: plan.id })}>What if</a>
        <${AsJSON}
          path=${`v1/plans/${encodeURIComponent(plan.id)}`}
          name=${`${plan.operator}-interval-${plan.interval}`}
        />
        <${Compare} plan=${plan} />
        <${Comment} plan=${plan} onSaid=${steps.reload} />
        <${Undo} plan=${plan} />
      </div>
      <${Decision} plan=${plan} etag=${found.etag} take=${found.take} reload=${found.reload} />
    </div>
    <${KeptBack} plan=${plan} />
    <div class="row plan-under">
      <${Standing} plan=${plan} steps=${steps} />
      <p class="muted">
        ${strategyTitle(plan.strategy)} · on table version ${count(plan.base_version)}
        ${plan.version !== null && `, became ${count(plan.version)}`}${
          plan.undo && `, brings back ${count(plan.undo.to_version)}`
        } · made <${Time} at=${plan.created_at} />
      </p>
    </div>
  `
}
