/**
 * Where a message goes: by the routing table of plannerd, and for a key without an entry there
 * by a hash function. The functions are those of the server, to which files of vectors hold them.
 *
 * <p>A {@link plannerd.sdk.route.Table} is immutable. A router keeps the newest in a volatile
 * field, looks keys up in it from any number of threads, and replaces it as the feed of the
 * server tells. The package knows no clock, no input and no output.
 */
package plannerd.sdk.route;
