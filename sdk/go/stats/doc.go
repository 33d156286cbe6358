// Package stats measures, at an instance, what its keys cost in an interval, and how large
// their states are: what plannerd plans on.
//
// [Exact] counts every key. Where there are too many for that, [Heavy] keeps a bounded
// number of the costliest, by the SpaceSaving algorithm of Metwally, Agrawal and El Abbadi
// (2005), and the rest as one sum: partial statistics with a residual.
//
//	keys := stats.NewExact()
//	…
//	keys.Add(key, 1)            // for each message, from any goroutine
//	keys.SetState(key, size)    // when the size of a state changes
//	keys.Forget(key)            // when the key has gone to another instance
//	…
//	rows := keys.Close()        // at the end of the interval
//	api.PutReportFrom(ctx, "clicks", interval, instance, wire.ReportRequest{},
//		client.Statistics{Rows: client.Rows(rows)})
//
// [Merge] makes one list of what several instances counted, for an engine that sends all rows
// in one request instead of a report from each instance.
package stats
