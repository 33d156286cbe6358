// Package feed tells routers of the committed tables: whole ones, what changed since a version, what
// is pending, where a key goes, and which routers there are. Calls may wait for the next version.
// It never asks how a table came about.
package feed
