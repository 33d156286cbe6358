// Package figures has what a plan reports about itself, in the form that the store keeps and the
// API answers with: loads, hot and split keys, certificates, causes, why a plan waits, and how a
// plan does under newer statistics. It never asks how a plan was made.
package figures
