// One operator: what is going on, how its intervals went, and its plans.

import { useResource } from '../api.js'
import { html, useEffect, useState } from '../html.js'
import { Card, choose, Code, loaded } from '../parts.js'
import { setQuery } from '../route.js'
import { commandOf } from '../shell.js'
import { Charts } from './operator/charts.js'
import { firstStatistics } from './operator/first.js'
import { Figures } from './operator/figures.js'
import { Page } from './operator/page.js'
import { History } from './operator/history.js'
import { intervalsOf, useNewest, usePlans } from './operator/plans.js'
import { Routers } from './operator/routers.js'
import { fillingWords } from './plan/filling.js'

const inFlight = ['applying', 'aborting']

const sizes = [30, 100, 500, 1000]

/** @param {{ operator: string, query: Query }} props */
export default function View({ operator: name, query }) {
  const [stamp, setStamp] = useState(/** @type {string | null} */ (null))
  const size = sizes.includes(Number(query.last)) ? Number(query.last) : 100
  const recent = usePlans(stamp === null ? null : name, { intervals: size, stamp })
  return html`<${Page}
    name=${name}
    tab="plans"
    plans=${recent.data?.plans}
    render=${(operator, etag) => html`
      <${Stamp} operator=${operator} etag=${etag} onChange=${setStamp} />
      ${
        operator.last_interval === null
          ? html`<${First} operator=${operator} />`
          : html`
              ${loaded(
                recent,
                ({ plans }) => html`<${Intervals} operator=${operator} plans=${plans} size=${size} />`,
                8,
              )}
              <${Routers}
                operator=${name}
                plan=${inFlight.includes(operator.current_plan_status ?? '') ? operator.current_plan : null}
              />
              ${stamp !== null && html`<${History} name=${name} query=${query} stamp=${stamp} />`}
            `
      }
    `}
  />`
}

/**
 * Says when there may be other plans than those that were loaded: the operator changed, or its newest plan did.
 *
 * @param {{ operator: API['Operator'], etag: string | null, onChange: (stamp: string) => void }} props
 */
function Stamp({ operator, etag, onChange }) {
  const newest = useNewest(operator.name)
  const known = newest.data !== null || newest.problem !== null
  const stamp = `${etag} ${newest.data?.id} ${newest.data?.status}`
  useEffect(() => {
    if (known) onChange(stamp)
  }, [known, stamp])
  return null
}

/** @param {{ operator: API['Operator'], plans: PlanSummary[], size: number }} props */
function Intervals({ operator, plans, size }) {
  const all = intervalsOf(plans)
  if (all.length === 0) return null // The first one is on its way.
  return html`
    ${operator.scheme === 'table' && html`<${Filling} newest=${plans[0]} />`}
    <${Figures} operator=${operator} intervals=${all} plans=${plans} />
    <${Charts}
      operator=${operator}
      intervals=${all.slice(-size)}
      chooser=${choose(
        'Newest',
        size,
        sizes.map((n) => [n, n]),
        (last) => setQuery({ last }),
        { after: 'intervals' },
      )}
    />
  `
}

/**
 * That instances were added and are being filled, until a plan that does it is committed.
 *
 * @param {{ newest: PlanSummary }} props
 */
function Filling({ newest }) {
  /** @type {Watched<Plan>} */
  const { data: plan } = useResource(`v1/plans/${encodeURIComponent(newest.id)}`)
  const fills = plan !== null && plan.instances.some((i) => i.filling)
  if (!fills || (newest.status === 'committed' && !plan.unfilled?.some((of) => !of.proven))) return null
  return html`<div class="row operator-now moves operator-filling" role="status">
    ${fillingWords(plan).map((text) => html`<p key=${text}>${text}</p>`)}
  </div>`
}

/**
 * What brings the first plan.
 *
 * @param {{ operator: API['Operator'] }} props
 */
function First({ operator }) {
  return html`<${Card} title="No interval has been planned yet">
    <p>
      Send what each key cost in an interval, and how large its state is. The answer is a plan, and it appears here by
      itself.
    </p>
    <${Code} label="Send the statistics of an interval" text=${commandOf(firstStatistics(operator))} />
    <p class="muted">
      The keys and figures are an example. <a href="docs">The API</a> takes JSON, NDJSON, Arrow and compressed bodies
      too.
    </p>
  <//>`
}
