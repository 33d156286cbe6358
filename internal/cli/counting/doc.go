// Package counting makes statistics of what people have: of events, by counting them, and of files
// that other systems write. It knows logs and times; how statistics are read is for packages input
// and reading to know.
package counting
