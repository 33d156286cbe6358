// Package storetest tests what every [store.Store] must do, as one suite that runs on each kind of database.
package storetest
