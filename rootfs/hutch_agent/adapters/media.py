"""Images, sound, video and files, between frameworks and parts.

A part holds a URL, which for data itself is a data: URL.
"""
import mimetypes
import urllib.parse


def data_url(data, media_type):
    return f"data:{media_type or 'application/octet-stream'};base64,{data}"


def split(url):
    """(media type, base64) of a data: URL, None of another."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[5:].partition(",")
    return head.split(";")[0] or "text/plain", data


def suffix(url):
    """What follows the last dot of a URL's path, or None."""
    try:
        name = urllib.parse.urlparse(url).path.rsplit("/", 1)[-1]
    except ValueError:
        return None
    return name.rsplit(".", 1)[1].lower() if "." in name else None


def media_type_of(url, default="application/octet-stream"):
    found = split(url)
    if found:
        return found[0]
    try:
        path = urllib.parse.urlparse(url).path
    except ValueError:
        return default
    return mimetypes.guess_type(path)[0] or default


def part(kind, url, name=None, format=None):
    """The part for kind image, audio, video or file."""
    if kind == "image":
        return {"type": "image", "image_url": url}
    if kind == "video":
        return {"type": "video", "video_url": url}
    if kind == "audio":
        if format is None:
            found = split(url)
            format = found[0] if found else suffix(url)
        said = {"type": "audio", "data": url}
        if format:
            said["format"] = format
        return said
    said = {"type": "file", "file_url": url}
    if name:
        said["filename"] = name
    return said


def kind_of(media_type):
    """Which kind of part a media type is."""
    kind = (media_type or "").split("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"


def by_type(media_type, url=None, data=None, name=None):
    """The part for a media type and a URL or base64."""
    if url is None:
        url = data_url(data or "", media_type)
    return part(kind_of(media_type), str(url), name)


def url_of(p):
    """The URL of a part that came in, None if it has none."""
    kind = p.get("type")
    if kind == "image":
        return p.get("image_url")
    if kind == "video":
        return p.get("video_url")
    if kind == "audio":
        data = p.get("data")
        if isinstance(data, str) and data and not data.startswith("data:") \
                and "://" not in data:
            return data_url(data, f"audio/{p.get('format') or 'wav'}")
        return data
    if kind == "file":
        url = p.get("file_url")
        data = p.get("file_data")
        if url or not data:
            return url
        if data.startswith("data:"):
            return data
        return data_url(data, media_type_of(p.get("filename") or ""))
    return None
