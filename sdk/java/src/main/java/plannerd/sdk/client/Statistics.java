package plannerd.sdk.client;

import java.util.List;

/**
 * What keys cost in an interval.
 *
 * @param rows one for each key, or one for each key and instance where a key is at several
 * @param tableVersion the version of the table by which messages went; null: not said
 * @param tableOrigin the origin of that version, as the table tells it; null: not said
 * @param epoch of the engine that sends this: lower ones are refused from then on; null: none
 */
public record Statistics(List<Row> rows, Long tableVersion, String tableOrigin, Long epoch) {}
