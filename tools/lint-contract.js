// Holds openapi.yaml against rules of Redocly's linter. "struct" is OpenAPI's own
// schema. Examples are held against their schemas when the contract is bundled.
//
//   node tools/lint-contract.js openapi.yaml
import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core'
import process from 'node:process'

const rules = [
  'struct',
  'no-unresolved-refs',
  'no-unused-components',
  'no-ambiguous-paths',
  'no-identical-paths',
  'no-path-trailing-slash',
  'path-parameters-defined',
  'path-declaration-must-exist',
  'operation-operationId',
  'operation-operationId-unique',
  'operation-operationId-url-safe',
  'operation-summary',
  'operation-description',
  'operation-parameters-unique',
  'operation-2xx-response',
  'operation-4xx-response',
  'operation-tag-defined',
  'operation-singular-tag',
  'tag-description',
  'parameter-description',
  'security-defined',
  'info-license',
  'no-enum-type-mismatch',
  'no-schema-type-mismatch',
  'no-required-schema-properties-undefined',
]

const config = await createConfig({ rules: Object.fromEntries(rules.map((name) => [name, 'error'])) })
const problems = await lint({ ref: process.argv[2], config })
const totals = getTotals(problems)
formatProblems(problems, { format: 'codeframe', totals, version: '' })
process.exit(problems.length > 0 ? 1 : 0)
