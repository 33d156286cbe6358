// The request that configures an operator.

import { quoted } from '../../shell.js'

/** What a PUT accepts, in the order of the contract; which of them an operator has is up to its scheme. */
const accepted = [
  'instances', 'scheme', 'ring', 'ranges', 'strategy', 'theta_max', 'table_limit', 'beta', 'key_overhead', 'certificate', 'objective', 'migration_limit',
  'work_budget', 'deadline', 'compact', 'hash', 'trigger', 'require_approval', 'approval', 'table_owner', 'reports', 'retention', 'store_inputs',
]

/** The configuration of an operator, without what the service adds to it, and without what is null: that is not limited. */
export function configurationOf(operator) {
  const said = accepted.filter((name) => operator[name] !== undefined && operator[name] !== null)
  return { ...Object.fromEntries(said.map((name) => [name, withoutNulls(operator[name])])), instances: short(operator.instances) }
}

const withoutNulls = (x) => (typeof x !== 'object' || Array.isArray(x) ? x : Object.fromEntries(Object.entries(x).filter(([, value]) => value !== null)))

/** Instances 0 to n−1 that nothing is said about are a number. */
const short = (instances) => (instances.every(({ id, capacity = 1, tokens }, i) => id === i && capacity === 1 && tokens === undefined) ? instances.length : instances)

/** The request that configures an operator so; its JSON stands on few lines. */
export function putRequest(name, configuration) {
  const lines = Object.entries(configuration).map(([key, value]) => ` ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  return { method: 'PUT', path: `v1/operators/${encodeURIComponent(name)}`, body: `{\n${lines.join(',\n')}\n}` }
}
