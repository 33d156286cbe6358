package plannerd.sdk.handoff;

import java.util.List;
import java.util.Map;

/**
 * A plan, or a batch of one, that is being handed over. All but aborting and executorEpoch is fixed
 * when it begins.
 *
 * @param version that of the table which it makes. It identifies the hand-over: each has a higher
 *     one than all before
 * @param routers the epochs of the routers whose markers instances wait for
 * @param awaits the instances that have to acknowledge
 * @param aborting no acknowledgement counts, and each of awaits has to go back
 * @param executorEpoch that of the driver that carries it out
 */
public record Pending(long version, Map<String, Long> routers, List<Integer> awaits, boolean aborting,
    long executorEpoch) {}
