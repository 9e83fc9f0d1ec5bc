"""The HTTP server behind the studio's page: a few trained models, one worker, and limits on everything."""
