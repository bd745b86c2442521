"""placeholder"""
async def queue_story(site, plan, journal, storm):
    return []
