//go:build !unix

package sqlite

// syncFolder does nothing where folders cannot be synced.
func syncFolder(string) error { return nil }
