// Package reading reads what the store has of operators, tables and plans, and keeps in memory
// what never changes: placements, versions of tables, lists of migrations. It knows how much memory
// calls hold, and whom to tell what happens. It never asks what is to be planned, and changes
// nothing.
package reading
