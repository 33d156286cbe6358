/** What keys cost in an interval, counted exactly, for reports to the service. */
package plannerd.sdk.stats;
