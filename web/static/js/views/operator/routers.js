// The routers of an engine that hand keys over while messages flow.

import { useResource } from '../../api.js'
import { count, counted } from '../../format.js'
import { html } from '../../html.js'
import { Card, PlainTable, Time } from '../../parts.js'

/** @import { Column } from '../../parts.js' */
/** @import { Resource } from '../../api.js' */

/**
 * The routers of an operator, if it has some. plan is the one that is being carried out, if any.
 *
 * @param {{ operator: string, plan?: string | null }} props
 */
export function Routers({ operator, plan: id }) {
  /** @type {Resource<API['RouterList']>} */
  const registered = useResource(`v1/operators/${encodeURIComponent(operator)}/routers`, { every: 5_000 })
  /** @type {Resource<Plan>} */
  const plan = useResource(id ? `v1/plans/${encodeURIComponent(id)}` : null)
  const routers = registered.data?.routers ?? []
  if (routers.length === 0) return null
  const named = (id && plan.data?.routers) || {}
  const lost = routers.filter((r) => r.expired).length
  return html`<${Card}
    title="Routers"
    aside=${counted(routers.length, 'router') + (lost > 0 ? `, of ${count(lost)} the lease has run out` : '')}
  >
    <${PlainTable}
      caption="Routers of the engine"
      rows=${routers}
      rowKey=${(/** @type {API['Router']} */ r) => r.router}
      columns=${
        /** @type {(Column<API['Router']> | false)[]} */ ([
          { head: 'Router', of: (r) => r.router },
          { head: 'Epoch', number: true, of: (r) => count(r.epoch) },
          {
            head: 'Lease',
            of: (r) =>
              html`<span class=${r.expired ? 'toned warn' : ''}>${r.expired ? 'ran out' : 'runs out'} </span>
                <${Time} at=${r.expires_at} brief />`,
          },
          Object.keys(named).length > 0 && {
            head: 'Epoch in the pending plan',
            number: true,
            of: (r) => (r.router in named ? count(named[r.router]) : 'not named'),
          },
        ]).filter((c) => c !== false)
      }
    />
  <//>`
}
