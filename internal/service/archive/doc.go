// Package archive answers what is asked of stored plans: their lists, flows and transitions, and the
// statistics that an analysis may use again. It never asks what is to become of a plan.
package archive
