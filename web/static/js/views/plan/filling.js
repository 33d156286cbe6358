// Which instances a plan fills, and which stay below the load that they should carry.

import { amount, some } from '../../format.js'
import { named } from '../../instances.js'

/** @type {Record<string, string>} */
const shortages = {
  proven: ', as all keys that fit there are too few',
  few_keys: ', as no key that fits there can be spared elsewhere',
  table_limit: ', as the routing table is at its limit',
  budget: ', as no more may be moved, or time ran out',
}

/**
 * What a plan says about instances that are to be filled, in sentences; none where nothing is asked for.
 *
 * @param {AnyPlan} plan
 */
export function fillingWords(plan) {
  const out = []
  const filling = plan.instances.filter((i) => i.filling)
  if (filling.length > 0)
    out.push(
      `Added, and being filled to at least ${amount(filling[0].least_load ?? 0)}:` +
        ` ${filling.length === 1 ? 'instance' : 'instances'} ${some(filling.map((i) => named(plan, i.id)))}.`,
    )
  const short = Map.groupBy(plan.unfilled ?? [], ({ proven, cause = '' }) => (proven ? 'proven' : cause))
  for (const [why, of] of short)
    out.push(
      `Below what ${of.length === 1 ? 'it' : 'they'} should carry${shortages[why] ?? ''}: ` +
        `${some(of.map((i) => named(plan, i.instance)))}.`,
    )
  return out
}
