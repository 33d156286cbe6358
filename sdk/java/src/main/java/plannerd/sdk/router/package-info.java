/**
 * Keeps the routing table of an operator current at a router, as the server's feed tells it.
 * Looking up never waits for the server: while it is away, keys go where the last table says, and
 * where that is kept in a file, also after the router was restarted meanwhile.
 */
package plannerd.sdk.router;
