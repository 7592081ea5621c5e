#include "guest/guest.h"
#include "web/http.h"
#include "web/upload.h"

static void
hold(struct upload *u, bool on)
{
	if (u->paused == on)
		return;
	u->paused = on;
	if (on)
		http_req_pause(u->q);
	else
		http_req_resume(u->q);
}

static size_t
push(struct upload *u, const uint8_t *b, size_t n)
{
	size_t room = u->call != NULL ? guest_room(u->call) : 0;

	if (n > room)
		n = room;
	if (n > 0)
		guest_input(u->call, b, n);
	return n;
}

void
upload_bytes(struct upload *u, const uint8_t *b, size_t n)
{
	size_t gone = u->wait.len == 0 ? push(u, b, n) : 0;

	if (gone < n) {
		str_add(&u->wait, b + gone, n - gone);
		hold(u, true);
	}
}

void
upload_room(struct upload *u)
{
	if (u->call == NULL)
		return;
	if (u->wait.len > 0)
		str_drop(&u->wait,
		    push(u, (const uint8_t *)u->wait.at, u->wait.len));
	if (u->wait.len > 0)
		return;
	if (u->end)
		guest_input_end(u->call);
	u->end = false;
	hold(u, false);
}

void
upload_into(struct upload *u, struct guest_call *call)
{
	u->call = call;
	u->end = false;
	upload_room(u);
}

void
upload_end(struct upload *u)
{
	u->end = true;
	if (u->call != NULL && u->wait.len == 0)
		upload_room(u);
}

void
upload_over(struct upload *u)
{
	u->call = NULL;
	str_cut(&u->wait, 0);
}

void
upload_free(struct upload *u)
{
	str_free(&u->wait);
}
