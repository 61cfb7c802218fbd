#include <dist/api.h>
#include <stdio.h>

int main(void) {
  dist_session_t *session;
  dist_status_t *status = dist_session_open("/nowhere", NULL, &session);
  printf("%s: %s\n", dist_version_string(), dist_status_message(status));
  return dist_status_code(status) == DIST_STATUS_INVALID_INPUT ? 0 : 1;
}
