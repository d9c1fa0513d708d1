# racebot as a container: `docker build -t racebot .`, or see deploy/compose.yaml.
#
# Settings come from the environment or from files mounted into /srv/racebot; no secret belongs in the image.

FROM python:3.13-slim AS build

WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY racebot racebot
RUN python -m venv --without-pip /opt/racebot \
    && pip --python /opt/racebot/bin/python install --no-cache-dir 'racebot[web] @ file:///source'


FROM python:3.13-slim

# The program and its folder belong to root; the bot may write into state/ alone.
RUN groupadd --gid 10001 racebot \
    && useradd --uid 10001 --gid racebot --no-create-home --home-dir /srv/racebot --shell /usr/sbin/nologin racebot \
    && install --directory --owner=racebot --group=racebot --mode=0750 /srv/racebot/state
COPY --from=build /opt/racebot /opt/racebot

ENV PATH=/opt/racebot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/racebot
VOLUME ["/srv/racebot/state"]
USER 10001:10001

# Exit code 0 while the worker has seen its category within the last five minutes.
HEALTHCHECK --interval=1m --timeout=15s --start-period=2m --retries=3 CMD ["racebot", "health"]

ENTRYPOINT ["racebot"]
CMD ["run"]
