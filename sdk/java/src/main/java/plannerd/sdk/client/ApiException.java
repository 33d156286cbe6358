package plannerd.sdk.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Duration;

/** What the server refused, and why (RFC 9457). */
public final class ApiException extends IOException {
  /** Another process has a higher epoch: this one was taken for dead. */
  public static final String FENCED = "fenced";
  /** The plan is in a state in which this step is not possible: it may have ended meanwhile. */
  public static final String TRANSITION_NOT_ALLOWED = "transition_not_allowed";
  /** Another request with the same Idempotency-Key is still worked on. */
  public static final String IDEMPOTENCY_KEY_RUNNING = "idempotency_key_running";
  /** Somebody else changed the resource that If-Match named. */
  public static final String PRECONDITION_FAILED = "precondition_failed";
  /** The operator's table is kept by the engine, so it cannot be followed. */
  public static final String TABLE_NOT_HELD = "table_not_held";
  /** There is no such operator. */
  public static final String OPERATOR_NOT_FOUND = "operator_not_found";

  private final int status;
  private final String code;
  private final transient JsonNode problem;
  private final Duration retryAfter;
  private final int attempts;

  ApiException(String request, int status, JsonNode problem, Duration retryAfter, int attempts) {
    super(request + ": " + status + " " + problem.path("code").asText() + ": " + problem.path("detail").asText()
        + (problem.has("errors") ? " " + problem.get("errors") : ""));
    this.status = status;
    this.code = problem.path("code").asText();
    this.problem = problem;
    this.retryAfter = retryAfter;
    this.attempts = attempts;
  }

  /** Returns the status of the answer. */
  public int status() {
    return status;
  }

  /** Returns the code of the problem; empty where something between server and client answered. */
  public String code() {
    return code;
  }

  public boolean is(String expected) {
    return code.equals(expected);
  }

  /** Returns all members of the problem as they came. */
  public JsonNode problem() {
    return problem;
  }

  /** Returns after which time the server says to come again; zero: it does not. */
  public Duration retryAfter() {
    return retryAfter;
  }

  /** Returns how often the call was tried. */
  public int attempts() {
    return attempts;
  }

  /** Reports whether the same request may succeed later, without anybody doing anything about it. */
  public boolean isTemporary() {
    return status == 429 || status >= 502 && status <= 504 || is(IDEMPOTENCY_KEY_RUNNING);
  }
}
