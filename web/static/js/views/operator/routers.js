// The routers of an engine that hand keys over while messages flow.

import { useResource } from '../../api.js'
import { count, counted } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable, Time } from '../../parts.js'

/**
 * The routers of an operator, if it has some. plan is the one that is being carried out, if any.
 *
 * @param {{ operator: string, plan?: string | null }} props
 */
export function Routers({ operator, plan: id }) {
  /** @type {Watched<API['RouterList']>} */
  const registered = useResource(`v1/operators/${encodeURIComponent(operator)}/routers`, { every: 5_000 })
  /** @type {Watched<Plan>} */
  const plan = useResource(id ? `v1/plans/${encodeURIComponent(id)}` : null)
  const routers = registered.data?.routers ?? []
  if (routers.length === 0) return null
  const named = (id && plan.data?.routers) || {}
  const lost = routers.filter((r) => r.expired).length
  return html`<${Card}
    title="Routers"
    aside=${counted(routers.length, 'router') + (lost > 0 ? `, of ${count(lost)} the lease has run out` : '')}
  >
    ${plainTable('Routers of the engine', routers, [
      ['Router', (r) => r.router],
      ['Epoch', (r) => count(r.epoch), 'number'],
      [
        'Lease',
        (r) =>
          html`<span class=${r.expired ? 'toned warn' : ''}>${r.expired ? 'ran out' : 'runs out'} </span>
                <${Time} at=${r.expires_at} brief />`,
      ],
      Object.keys(named).length > 0 && [
        'Epoch in the pending plan',
        (r) => (r.router in named ? count(named[r.router]) : 'not named'),
        'number',
      ],
    ])}
  <//>`
}
