package plannerd.sdk.client;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How calls are repeated. The time before the next attempt is drawn evenly from zero to a bound
 * that doubles each time ("full jitter"), so that many clients whose server was away do not come
 * back at once. Where the answer has Retry-After, that is waited for first.
 *
 * @param attempts how often a call is tried at most; 1: there are no retries
 * @param base the bound of the first wait
 * @param cap what the bound grows to
 * @param patience the longest Retry-After that is waited for; a call that is told to wait longer
 *     fails
 */
public record Retry(int attempts, Duration base, Duration cap, Duration patience) {
  /** Five attempts, waits from 100 ms up to 5 s, and a patience of 30 s. */
  public static final Retry DEFAULT =
      new Retry(5, Duration.ofMillis(100), Duration.ofSeconds(5), Duration.ofSeconds(30));

  /** Returns how long to wait after so many failures, counted from 1. */
  public Duration wait(int failures) {
    long bound = cap.toMillis();
    if (failures < 32) {
      bound = Math.min(bound, base.toMillis() << failures - 1);
    }
    return Duration.ofMillis(ThreadLocalRandom.current().nextLong(bound + 1));
  }
}
