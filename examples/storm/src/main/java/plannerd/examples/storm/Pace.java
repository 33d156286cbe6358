package plannerd.examples.storm;

import java.util.concurrent.locks.LockSupport;

/**
 * Gives each message its service time by a deadline: an instance is free again when all that it
 * took has had its time, one after the other. Sleeping until a moment, and not for a while, makes up
 * for sleeps that are too long; what is late by more than {@link #SLACK} is lost, and so is all time
 * in which nothing waits. It is a delay and not work, so that many instances fit on few cores.
 */
final class Pace {
  private static final long SLACK = 50_000_000;
  private static final long LEAST_SLEEP = 300_000;

  private long free = System.nanoTime();

  /**
   * Gives what came at a time of {@link System#nanoTime} so many nanoseconds, and returns when it is
   * done: by now or, where sleeping does not pay, soon.
   */
  long serve(long came, long service) {
    long now = System.nanoTime();
    free = Math.max(Math.max(free, came), now - SLACK) + service;
    if (free - now > LEAST_SLEEP) {
      LockSupport.parkNanos(free - now);
    }
    return Math.max(free, System.nanoTime());
  }
}
