/**
 * What an engine needs of the HTTP API: describing an operator, sending statistics, carrying a
 * plan out, registering routers, reading the routing table. Records have the fields that an engine
 * acts on; every answer is also to be had as a tree ({@link plannerd.sdk.client.Client#call}),
 * with all that openapi.yaml names.
 *
 * <p>A call is repeated where that is safe, with waits drawn at random, under one Idempotency-Key,
 * so that nothing is done twice. What the server refuses is an
 * {@link plannerd.sdk.client.ApiException} with its code.
 */
package plannerd.sdk.client;
